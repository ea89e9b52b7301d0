internal import EventLoop
internal import FerryClient
internal import Glibc
internal import Limits
internal import Processes

/// A file, a pipe or standard input that the user names. Foundation reads nothing from pipes.
enum InputFile {
  /// Returns all bytes.
  /// - Parameter path: `-` for standard input.
  static func bytes(_ path: String) throws(CommandFailure) -> [UInt8] {
    let descriptor = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(path) }
    defer { if descriptor > 0 { close(descriptor) } }
    var bytes: [UInt8] = []
    while true {
      guard let next = DescriptorTransfer.read(descriptor, upTo: 64 << 10) else { throw failure(path) }
      guard !next.isEmpty else { return bytes }
      bytes += next
      guard bytes.count <= ClientLimits.inputBytes.value else {
        throw CommandFailure(.file, "\(path) has more than \(ClientLimits.inputBytes.value) bytes")
      }
    }
  }

  /// Returns the text.
  static func text(_ path: String) throws(CommandFailure) -> String {
    guard let text = String(validating: try bytes(path), as: UTF8.self) else {
      throw CommandFailure(.file, "\(path) is not UTF-8 text")
    }
    return text
  }

  private static func failure(_ path: String) -> CommandFailure {
    CommandFailure(.file, "\(path) cannot be read: \(ProcessHandle.text(ofError: errno))")
  }
}

extension String {
  /// The first line that is not empty.
  var firstLine: String? { split(whereSeparator: \.isNewline).first.map(String.init) }
}
