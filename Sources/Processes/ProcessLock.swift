internal import CLinux
internal import EventLoop
internal import Glibc
internal import JSON

/// Keeps a place for one process at a time, and tells the others which one that is.
///
/// Two bytes of a file are locked (F_OFD_SETLK, fcntl(2)): the first says that the place is taken, the second that the file
/// tells by whom. Such locks can be looked at without being taken, belong to the open file rather than to the process, and go
/// with it, however it ends.
package final class ProcessLock: Sendable {
  /// Who holds a lock.
  package struct Owner: Sendable, Equatable {
    package var pid: Int32
    /// Clock ticks from the machine's start to the process's (`starttime`, proc_pid_stat(5)): tells it from a later
    /// process with the same number.
    package var startTime: UInt64
    /// Of the program.
    package var version: String

    /// Whether that very process runs; one that has ended and was not waited for does not.
    package var isAlive: Bool { ProcessStatus(of: "\(pid)")?.runningSince == startTime }
    /// That very process; nil where it has ended, or cannot be seen from here.
    package var process: ProcessHandle? {
      let owner = self
      return ProcessHandle(pid: pid) { owner.isAlive }
    }
  }
  private enum Byte {
    static let taken: off_t = 0
    static let told: off_t = 1
  }

  private let path: String
  private let descriptor: Int32

  /// Nil where another process, or another lock of this one, has it, or the file cannot be had.
  /// - Parameter version: of the program; nil: nobody is told who has it, or that somebody lives.
  package init?(path: String, version: String?) {
    guard let descriptor = Self.take(path) else { return nil }
    self.path = path
    self.descriptor = descriptor
    guard let version else { return }
    guard Self.tell(version: version, in: descriptor) else { return nil }
  }

  /// A process that is being started has a copy of the descriptor until it becomes another program: closing this one alone would not
  /// give the lock back before then.
  deinit {
    Self.untell(in: descriptor)
    _ = clinux_unlock_byte(descriptor, Byte.taken)
    close(descriptor)
  }

  /// Who holds the lock now; nil where nobody does, or whoever does has not said so yet.
  package static func owner(path: String) -> Owner? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    guard clinux_is_byte_locked(descriptor, Byte.told) == 1 else { return nil }
    return SmallFile.read(descriptor).flatMap(Owner.init(bytes:))
  }

  /// Says that the process lives: the file's time of modification is now.
  package func beat() { futimens(descriptor, nil) }

  /// Says that the process lives: the file's time of modification is the machine's uptime, which nobody sets and which goes on while the
  /// machine sleeps.
  package func renew() {
    let now = Self.uptime
    let time = timespec(tv_sec: Int(now / 1_000_000_000), tv_nsec: Int(now % 1_000_000_000))
    _ = withUnsafePointer(to: (time, time)) { pointer in
      pointer.withMemoryRebound(to: timespec.self, capacity: 2) { futimens(descriptor, $0) }
    }
  }

  /// How long ago the holder last did that, in nanoseconds; nil where there is no such file.
  package static func age(path: String) -> Int64? { lastBeat(path: path).map { uptime - $0 } }

  private static var uptime: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// When the holder last said so, in nanoseconds of the wall clock; nil where there is no such file.
  package static func lastBeat(path: String) -> Int64? {
    var information = stat()
    guard stat(path, &information) == 0 else { return nil }
    return Int64(information.st_mtim.tv_sec) * 1_000_000_000 + Int64(information.st_mtim.tv_nsec)
  }

  /// Whether the path still leads to the file that is locked; not so once the directory was deleted, or replaced.
  package var isStillThere: Bool { Self.isSame(descriptor, path) }

  private static func take(_ path: String) -> Int32? {
    while true {
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { return nil }
      guard clinux_lock_byte(descriptor, Byte.taken) == 0 else {
        close(descriptor)
        return nil
      }
      if isSame(descriptor, path) { return descriptor }
      // The file was deleted between the two calls: a lock on it would keep nobody out.
      close(descriptor)
    }
  }

  /// Writes down that this process has the file, and says that it does.
  @discardableResult
  static func tell(version: String, in descriptor: Int32) -> Bool {
    guard let startTime = ProcessStatus(of: "self")?.runningSince else { return false }
    let bytes = Owner(pid: getpid(), startTime: startTime, version: version).bytes
    return pwrite(descriptor, bytes, bytes.count, 0) == bytes.count && ftruncate(descriptor, bytes.count) == 0
      && clinux_lock_byte(descriptor, Byte.told) == 0
  }

  /// The file tells of nobody any more.
  static func untell(in descriptor: Int32) { _ = clinux_unlock_byte(descriptor, Byte.told) }

  private static func isSame(_ descriptor: Int32, _ path: String) -> Bool {
    guard let held = FileIdentity(of: descriptor) else { return false }
    return held == FileIdentity(path)
  }
}

extension ProcessLock.Owner {
  /// What stands in the lock's file. Who reads passes over members that it does not know.
  var bytes: [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.field("pid", Int(pid))
      writer.field("startTime", Int(startTime))
      writer.field("version", version)
    }
    return writer.bytes
  }

  init?(bytes: [UInt8]) {
    guard let json = try? JSONParser.parse(bytes),
      let pid = json["pid"]?.integer.flatMap(Int32.init(exactly:)),
      let startTime = json["startTime"]?.integer.flatMap(UInt64.init(exactly:)),
      let version = json["version"]?.string
    else { return nil }
    self.init(pid: pid, startTime: startTime, version: version)
  }
}

/// What the kernel says of a process (proc_pid_stat(5)).
struct ProcessStatus: Equatable {
  /// Clock ticks since the machine's start; nil for a process that has ended.
  let runningSince: UInt64?

  /// - Parameter process: its number, or `self`.
  init?(of process: String) {
    let descriptor = open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    guard let bytes = SmallFile.read(descriptor) else { return nil }
    self.init(line: String(decoding: bytes, as: UTF8.self))
  }

  /// The program's name, in brackets, is the second of the fields, and may hold anything; the third is the state.
  init?(line: String) {
    guard let bracket = line.lastIndex(of: ")") else { return nil }
    let fields = line[line.index(after: bracket)...].split(whereSeparator: \.isWhitespace)
    guard fields.count > 19, let startTime = UInt64(fields[19]) else { return nil }
    runningSince = fields[0] == "Z" || fields[0] == "X" ? nil : startTime
  }
}

/// A file whose few bytes are read at once.
private enum SmallFile {
  static func read(_ descriptor: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    return count < 0 ? nil : Array(bytes.prefix(count))
  }
}
