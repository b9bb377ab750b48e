#include "tuner/workers/framing.hpp"

#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/random_problem.hpp"

using namespace tconv;
using test::Draw;

namespace {

std::string draw_bytes(Draw& draw, std::int64_t longest) {
    std::string bytes(static_cast<std::size_t>(draw.between(0, longest)), '\0');
    for (char& byte : bytes)
        byte = static_cast<char>(draw.between(0, 255));
    return bytes;
}

Message draw_message(Draw& draw, int depth) {
    switch (draw.between(0, depth > 0 ? 8 : 6)) {
        case 0:
            return draw.chance(50);
        case 1:
            return draw.between(std::numeric_limits<std::int64_t>::min() / 2, 0);
        case 2:
            return static_cast<std::uint64_t>(draw.between(0, std::numeric_limits<std::int64_t>::max() - 1));
        case 3:
            return std::ldexp(static_cast<double>(draw.between(-1000000, 1000000)),
                              static_cast<int>(draw.between(-1040, 1000)));
        case 4:
            return draw_bytes(draw, 300);
        case 5: {
            const std::string bytes = draw_bytes(draw, 70000);
            return Message::binary({bytes.begin(), bytes.end()});
        }
        case 6:
            return nullptr;
        case 7: {
            Message list = Message::array();
            for (std::int64_t left = draw.between(0, 30); left > 0; --left)
                list.push_back(draw_message(draw, depth - 1));
            return list;
        }
        default: {
            Message members = Message::object();
            for (std::int64_t left = draw.between(0, 30); left > 0; --left)
                members[std::string("m").append(std::to_string(left))] = draw_message(draw, depth - 1);
            return members;
        }
    }
}

std::string with_length(const std::string& content) {
    std::string frame;
    for (unsigned i = 0; i < 4; ++i)
        frame.push_back(static_cast<char>(content.size() >> (8 * i) & 0xFF));
    return frame + content;
}

}  // namespace

TEST_CASE("what is framed comes out again, message by message, in order") {
    for (int seed = 0; seed < test::rounds(60); ++seed) {
        Draw draw(static_cast<std::uint64_t>(seed));
        std::vector<Message> sent;
        std::string bytes;
        for (std::int64_t count = draw.between(1, 5); count > 0; --count) {
            sent.push_back(draw_message(draw, 3));
            bytes += framed(sent.back());
        }
        INFO("seed " << seed);
        for (const Message& message : sent) {
            const auto taken = take_message(bytes);
            REQUIRE(taken.has_value());
            CHECK(*taken == message);
        }
        CHECK(bytes.empty());
        CHECK(!take_message(bytes).has_value());
    }
}

TEST_CASE("a number that is none, infinity, and a zero's sign survive a frame") {
    std::string bytes = framed({{"nan", std::nan("")}, {"high", INFINITY}, {"low", -INFINITY}, {"zero", -0.0}});
    const auto taken = take_message(bytes);
    REQUIRE(taken.has_value());
    CHECK(std::isnan(taken->at("nan").get<double>()));
    CHECK(taken->at("high").get<double>() == INFINITY);
    CHECK(taken->at("low").get<double>() == -INFINITY);
    CHECK(std::signbit(taken->at("zero").get<double>()));
}

TEST_CASE("a part of a frame waits for the rest and stays as it is") {
    const std::string whole = framed({{"a", 1}, {"b", "text"}});
    for (std::size_t length = 0; length < whole.size(); ++length) {
        std::string part = whole.substr(0, length);
        CHECK(!take_message(part).has_value());
        CHECK(part == whole.substr(0, length));
    }
}

TEST_CASE("a frame that claims to be larger than any is refused before it has come") {
    std::string bytes = "\xFF\xFF\xFF\x7F";
    CHECK_THROWS_WITH(take_message(bytes), contains("2147483647 bytes"));
}

TEST_CASE("bytes that are no message are errors") {
    const std::string cases[]{
        "",                                                      // nothing
        std::string("\x01\x02", 2),                              // two items
        std::string("\x82\x01", 2),                              // a list with a part missing
        std::string("\x5A\xFF\xFF\xFF\xFF", 5),                  // bytes that are not there
        std::string("\x9B\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 9),  // a list longer than any memory
        std::string("\xBB\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 9),  // a map whose count overflows
        std::string("\xC1\x01", 2),                              // a tag
        std::string("\x9F\x01\xFF", 3),                          // an indefinite list
        std::string("\xA1\x01\x01", 3),                          // a member whose name is no text
        std::string(100000, '\x81'),                             // lists within lists
        std::string(100000, '\x7F'),                             // texts within texts
    };
    for (const std::string& content : cases) {
        std::string bytes = with_length(content);
        INFO("content of " << content.size() << " bytes");
        CHECK_THROWS_AS(take_message(bytes), Error);
    }
}

TEST_CASE("a damaged frame waits, is an error, or is another message, and nothing else happens") {
    for (int seed = 0; seed < test::rounds(3000); ++seed) {
        Draw draw(static_cast<std::uint64_t>(seed));
        std::string bytes = framed(
            {{"do", "measuring"}, {"what", {{"code", Message::binary({1, 2, 3})}, {"list", {1.5, 2, nullptr, true}}}}});
        for (std::int64_t count = draw.between(1, 4); count > 0; --count) {
            char& byte = bytes[static_cast<std::size_t>(draw.between(0, static_cast<std::int64_t>(bytes.size()) - 1))];
            byte = static_cast<char>(byte ^ draw.between(1, 255));
        }
        try {
            (void)take_message(bytes);
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::device);
        }
    }
}
