-- The tables as schema version 1 made them, word for word.
CREATE TABLE problem (
    id INTEGER PRIMARY KEY,
    spatial_axes INTEGER NOT NULL,
    batch INTEGER NOT NULL,
    in_channels INTEGER NOT NULL,
    out_channels INTEGER NOT NULL,
    groups INTEGER NOT NULL,
    input_d INTEGER NOT NULL,
    input_h INTEGER NOT NULL,
    input_w INTEGER NOT NULL,
    kernel_d INTEGER NOT NULL,
    kernel_h INTEGER NOT NULL,
    kernel_w INTEGER NOT NULL,
    stride_d INTEGER NOT NULL,
    stride_h INTEGER NOT NULL,
    stride_w INTEGER NOT NULL,
    padding_d INTEGER NOT NULL,
    padding_h INTEGER NOT NULL,
    padding_w INTEGER NOT NULL,
    output_padding_d INTEGER NOT NULL,
    output_padding_h INTEGER NOT NULL,
    output_padding_w INTEGER NOT NULL,
    dilation_d INTEGER NOT NULL,
    dilation_h INTEGER NOT NULL,
    dilation_w INTEGER NOT NULL,
    bias INTEGER NOT NULL,
    dtype TEXT NOT NULL,
    layout TEXT NOT NULL,
    key TEXT NOT NULL UNIQUE,  -- canonical form of all the above
    name TEXT NOT NULL
) STRICT;
CREATE INDEX problem_by_all_but_batch ON problem (spatial_axes, in_channels, out_channels, groups, input_d, input_h, input_w, kernel_d, kernel_h, kernel_w, stride_d, stride_h, stride_w, padding_d, padding_h, padding_w, output_padding_d, output_padding_h, output_padding_w, dilation_d, dilation_h, dilation_w, bias, dtype, layout);

CREATE TABLE device (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,  -- product name, compute capability, multiprocessors
    kind TEXT NOT NULL,        -- cuda or emulator
    name TEXT NOT NULL,
    compute_major INTEGER NOT NULL,
    compute_minor INTEGER NOT NULL,
    multiprocessors INTEGER NOT NULL,
    shared_memory_per_block INTEGER NOT NULL,  -- bytes
    l2_bytes INTEGER NOT NULL,
    memory_bytes INTEGER NOT NULL
) STRICT;

CREATE TABLE template (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    source_hash TEXT NOT NULL,
    UNIQUE (name, source_hash)
) STRICT;

CREATE TABLE binary (
    key TEXT PRIMARY KEY,
    size INTEGER NOT NULL,         -- bytes, uncompressed
    content_hash TEXT NOT NULL,    -- of the uncompressed bytes
    compressed BLOB NOT NULL       -- zlib
) STRICT;

-- binary_key has no foreign key: a trial on the emulator names a binary that is never stored.
CREATE TABLE trial (
    id INTEGER PRIMARY KEY,
    problem INTEGER NOT NULL REFERENCES problem (id),
    device INTEGER NOT NULL REFERENCES device (id),
    template INTEGER NOT NULL REFERENCES template (id),
    config TEXT NOT NULL,          -- JSON, canonical
    outcome TEXT NOT NULL,
    reason TEXT NOT NULL,
    error_relative REAL,           -- NULL: not a number
    error_absolute REAL,
    error_index INTEGER NOT NULL,
    error_distribution TEXT NOT NULL,
    median_ms REAL,
    minimum_ms REAL,
    spread REAL,
    samples_ms TEXT NOT NULL,      -- JSON
    dropped_early INTEGER NOT NULL,
    registers INTEGER NOT NULL,
    static_shared_bytes INTEGER NOT NULL,
    local_bytes INTEGER NOT NULL,
    blocks_per_multiprocessor INTEGER NOT NULL,
    compile_ms REAL,
    plan TEXT,                     -- JSON; NULL: nothing to launch
    binary_key TEXT NOT NULL,
    driver_version TEXT NOT NULL,
    compiler_version TEXT NOT NULL,
    created TEXT NOT NULL,         -- UTC
    UNIQUE (problem, device, template, config)
) STRICT;

CREATE TABLE request (
    problem INTEGER NOT NULL REFERENCES problem (id),
    device INTEGER NOT NULL REFERENCES device (id),
    tolerance REAL NOT NULL,
    count INTEGER NOT NULL,
    last_asked TEXT NOT NULL,
    PRIMARY KEY (problem, device, tolerance)
) STRICT, WITHOUT ROWID;

CREATE TABLE ceilings (
    device INTEGER PRIMARY KEY REFERENCES device (id),
    copy_bytes_per_second REAL NOT NULL,
    fma_flops_per_second REAL NOT NULL,
    empty_launch_ms REAL NOT NULL,
    measured TEXT NOT NULL
) STRICT;

-- The exact look-up walks the first index from its fast end; the list reads the second and never the wide rows. A trial
-- that was dropped after one sample comes after all that were timed properly.
CREATE INDEX trial_by_speed ON trial (problem, device, dropped_early, median_ms, error_relative)
    WHERE outcome = 'valid' AND plan IS NOT NULL AND median_ms > 0;
CREATE INDEX trial_by_outcome ON trial (problem, device, outcome, created);

CREATE VIEW winner AS
    SELECT p.key AS problem, p.name, d.key AS device, s.name AS template, t.config, t.median_ms, t.spread,
           t.error_relative, t.created, t.id AS trial
    FROM (SELECT DISTINCT problem, device FROM trial) tuned
    JOIN trial t ON t.id = (
        SELECT id FROM trial WHERE problem = tuned.problem AND device = tuned.device
        AND outcome = 'valid' AND plan IS NOT NULL AND median_ms > 0 ORDER BY dropped_early, median_ms LIMIT 1)
    JOIN problem p ON p.id = t.problem JOIN device d ON d.id = t.device JOIN template s ON s.id = t.template;

CREATE VIEW quarantine AS
    SELECT p.key AS problem, p.name, d.key AS device, s.name AS template, t.config, t.outcome, t.reason, t.created,
           t.id AS trial
    FROM trial t JOIN problem p ON p.id = t.problem JOIN device d ON d.id = t.device JOIN template s ON s.id = t.template
    WHERE t.outcome IN ('launch_error', 'wrong_result', 'not_finite', 'out_of_bounds', 'nondeterministic', 'timeout',
                        'crashed');

PRAGMA application_id = 0x74636e76;
PRAGMA user_version = 1;
