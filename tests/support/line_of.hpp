// What a failure says.
#pragma once

#include <functional>
#include <string>

namespace fedsinkhorn::test {

/// The message of the error that the body throws; `otherwise` if it does not.
template <class Error>
std::string line_of(const std::function<void()>& body,
                    const std::string& otherwise = "nothing of the kind was thrown") {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return otherwise;
}

}  // namespace fedsinkhorn::test
