internal import EventLoop
internal import FerryClient
internal import FoundationEssentials
internal import Glibc
internal import Processes
internal import Limits

/// The terminal of the process, if it has one.
enum Terminal {
  static var isOutput: Bool { isatty(1) == 1 }
  static var isError: Bool { isatty(2) == 1 }
  /// Whether escape sequences move the cursor. The type `dumb` only prints.
  static func movesCursor(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> Bool {
    environment["TERM"] != "dumb"
  }

  /// The width and height of the terminal at a descriptor.
  static func size(_ descriptor: Int32) -> (columns: Int, rows: Int) {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return (80, 24) }
    return (Int(size.ws_col), max(2, Int(size.ws_row)))
  }

  /// Writes lines to standard output. Control characters of their texts must be replaced already.
  static func output(_ lines: [String]) throws(CommandFailure) {
    guard !lines.isEmpty else { return }
    try CommandOutput.write(Array((lines.joined(separator: "\n") + "\n").utf8))
  }

  /// Asks for a line on the terminal.
  /// - Parameter isSecret: whether the answer is not shown.
  /// - Returns: `nil` at the end of the input, and if the process has no terminal.
  static func ask(_ question: String, isSecret: Bool = false) throws(CommandFailure) -> String? {
    let descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var saved = termios()
    let hasModes = tcgetattr(descriptor, &saved) == 0
    if isSecret, hasModes {
      var modes = saved
      // Without ISIG, Ctrl-C arrives as a byte, so that the echo is restored before the process ends.
      modes.c_lflag &= ~tcflag_t(ECHO | ISIG)
      modes.c_cc.11 = 3  // VEOL: the byte ends the line.
      tcsetattr(descriptor, TCSAFLUSH, &modes)
    }
    defer {
      if isSecret, hasModes {
        tcsetattr(descriptor, TCSAFLUSH, &saved)
        _ = DescriptorTransfer.writeAll(Array("\n".utf8), to: descriptor)
      }
    }
    _ = DescriptorTransfer.writeAll(Array(PlainText.safe(question).utf8), to: descriptor)
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while true {
      let count = read(descriptor, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1 else { return line.isEmpty ? nil : String(decoding: line, as: UTF8.self) }
      if byte == 3 { throw CommandFailure(.interrupted) }
      if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
      if line.count < ClientLimits.answerBytes.value { line.append(byte) }
    }
  }
}
