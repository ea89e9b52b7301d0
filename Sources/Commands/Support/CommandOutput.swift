internal import EventLoop
internal import Glibc
internal import Processes

/// Standard output of a command. All commands write their results here, so that a failed write ends each of them alike.
package enum CommandOutput {
  /// Writes a part of the result.
  package static func write(_ bytes: [UInt8]) throws(CommandFailure) {
    guard !DescriptorTransfer.writeAll(bytes, to: 1) else { return }
    throw failure(errno)
  }

  /// Returns the failure of a write. A reader that has gone, as `head -1` does, gets no message.
  static func failure(_ code: Int32) -> CommandFailure {
    guard code != EPIPE else { return CommandFailure(.closedPipe) }
    return CommandFailure(.file, "standard output cannot be written: \(ProcessHandle.text(ofError: code))")
  }
}

/// Standard error of a command.
package enum ErrorOutput {
  /// Writes a line after the name of the program, which is red on a terminal.
  package static func write(_ line: String) {
    let text = StyledText("ferry:", .failure) + StyledText(" " + PlainText.safe(line) + "\n")
    StandardError.write(Array(text.text(.error).utf8))
  }
}
