internal import CLinux
internal import EventLoop
internal import Glibc
internal import JSON

/// A lock for one process at a time, which names its owner to others.
///
/// Two bytes of a file are locked (F_OFD_SETLK, fcntl(2)). The first is the lock itself; the second says that the file names the owner.
/// Such locks can be queried without being taken. They belong to the open file rather than to the process, and end with it, even after a
/// crash.
package final class ProcessLock: Sendable {
  /// The owner of a lock: a process.
  package struct Owner: Sendable, Equatable {
    package var pid: Int32
    /// The start of the process, in clock ticks after the machine's start (`starttime`, proc_pid_stat(5)). It distinguishes the process
    /// from a later one with the same id.
    package var startTime: UInt64
    /// The program's version.
    package var version: String

    /// Whether this very process runs. A process that has ended but was not waited for does not.
    package var isAlive: Bool { ProcessStatus(of: "\(pid)")?.runningSince == startTime }
    /// A handle of this very process; `nil` if it has ended or is not visible from here.
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

  /// Takes the lock; `nil` if another process or another object has it, or the file cannot be opened.
  /// - Parameter version: the program's version; `nil` to publish no owner.
  package init?(path: String, version: String?) {
    guard let descriptor = Self.acquire(path) else { return nil }
    self.path = path
    self.descriptor = descriptor
    guard let version else { return }
    guard Self.writeOwner(version: version, in: descriptor) else { return nil }
  }

  /// Unlocks explicitly, because a process that is being started has a copy of the descriptor until it calls execve(2). Closing this
  /// descriptor alone would keep the lock until then.
  deinit {
    Self.clearOwner(in: descriptor)
    _ = clinux_unlock_byte(descriptor, Byte.taken)
    close(descriptor)
  }

  /// Returns the owner of the lock; `nil` if there is none or it has not published itself yet.
  package static func owner(path: String) -> Owner? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    guard clinux_is_byte_locked(descriptor, Byte.told) == 1 else { return nil }
    return SmallFile.read(descriptor).flatMap(Owner.init(bytes:))
  }

  /// Records a heartbeat: sets the file's modification time to the wall clock.
  package func recordHeartbeat() { futimens(descriptor, nil) }

  /// Renews the lease: sets the file's modification time to the machine's uptime, which cannot be set and includes time asleep.
  package func renewLease() {
    let now = Self.uptime
    let time = timespec(tv_sec: Int(now / 1_000_000_000), tv_nsec: Int(now % 1_000_000_000))
    _ = withUnsafePointer(to: (time, time)) { pointer in
      pointer.withMemoryRebound(to: timespec.self, capacity: 2) { futimens(descriptor, $0) }
    }
  }

  /// Returns the age of the lease in nanoseconds; `nil` if there is no file.
  package static func age(path: String) -> Int64? { lastHeartbeat(path: path).map { uptime - $0 } }

  private static var uptime: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// Returns the file's modification time in nanoseconds; `nil` if there is no file. Its clock is the wall clock after `recordHeartbeat`
  /// and the machine's uptime after `renewLease`.
  package static func lastHeartbeat(path: String) -> Int64? {
    var information = stat()
    guard stat(path, &information) == 0 else { return nil }
    return Int64(information.st_mtim.tv_sec) * 1_000_000_000 + Int64(information.st_mtim.tv_nsec)
  }

  /// Whether the path still names the locked file. It does not after the directory was deleted or replaced.
  package var isInPlace: Bool { Self.isSame(descriptor, path) }

  private static func acquire(_ path: String) -> Int32? {
    while true {
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { return nil }
      guard clinux_lock_byte(descriptor, Byte.taken) == 0 else {
        close(descriptor)
        return nil
      }
      if isSame(descriptor, path) { return descriptor }
      // The file was deleted between the two calls, so a lock on it would exclude no process.
      close(descriptor)
    }
  }

  /// Writes the owner into the file and locks the second byte.
  @discardableResult
  static func writeOwner(version: String, in descriptor: Int32) -> Bool {
    guard let startTime = ProcessStatus(of: "self")?.runningSince else { return false }
    let bytes = Owner(pid: getpid(), startTime: startTime, version: version).bytes
    return pwrite(descriptor, bytes, bytes.count, 0) == bytes.count && ftruncate(descriptor, bytes.count) == 0
      && clinux_lock_byte(descriptor, Byte.told) == 0
  }

  /// Unlocks the second byte: the file no longer names an owner.
  static func clearOwner(in descriptor: Int32) { _ = clinux_unlock_byte(descriptor, Byte.told) }

  private static func isSame(_ descriptor: Int32, _ path: String) -> Bool {
    guard let held = FileIdentity(of: descriptor) else { return false }
    return held == FileIdentity(path)
  }
}

extension ProcessLock.Owner {
  /// The content of the lock's file. Readers ignore unknown members.
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

/// The state of a process, as the kernel reports it (proc_pid_stat(5)).
struct ProcessStatus: Equatable {
  /// The start of the process, in clock ticks after the machine's start; `nil` if it has ended.
  let runningSince: UInt64?

  /// - Parameter process: the process id, or `self`.
  init?(of process: String) {
    let descriptor = open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    guard let bytes = SmallFile.read(descriptor) else { return nil }
    self.init(line: String(decoding: bytes, as: UTF8.self))
  }

  /// Parses a line of the file. The second field is the program's name in brackets, which may contain any text. The third is the state.
  init?(line: String) {
    guard let bracket = line.lastIndex(of: ")") else { return nil }
    let fields = line[line.index(after: bracket)...].split(whereSeparator: \.isWhitespace)
    guard fields.count > 19, let startTime = UInt64(fields[19]) else { return nil }
    runningSince = fields[0] == "Z" || fields[0] == "X" ? nil : startTime
  }
}

/// A small file that is read with one system call.
private enum SmallFile {
  static func read(_ descriptor: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    return count < 0 ? nil : Array(bytes.prefix(count))
  }
}
