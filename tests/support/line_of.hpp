// What a failure says.
#pragma once

#include <functional>
#include <string>

namespace fedsinkhorn::test {

/// The message of the error that the body throws.
template <class Error>
std::string line_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing of the kind was thrown";
}

}  // namespace fedsinkhorn::test
