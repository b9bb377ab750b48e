// The statements by which a database of trials is asked.
#pragma once

#include <string>

namespace tconv {

/// Adds a problem without a name, if it is not there: its columns, then its key.
const std::string& insert_problem_sql();

/// Keys of problems that differ in the batch at most: all other columns of a problem.
const std::string& other_batches_sql();

/// All trials of a problem (?1) and device (?2), or of a template (?3) and its version (?4) where these are not empty.
const std::string& trials_sql();

/// Right trials of a problem (?1) and device (?2) within an error (?3), strict ones alone (?4 = 1), of other versions
/// than ?6 of template ?5, the fastest first.
const std::string& former_trials_sql();

/// Right trials of a problem (?1) and device (?2) within an error (?3), strict ones alone (?4 = 1), by rank: a trial's
/// columns, then its machine code's size, hash and compressed content.
const std::string& winner_sql();

/// Each problem and device with their numbers of trials and the best of them, the last that changed first.
const std::string& list_sql();

}  // namespace tconv
