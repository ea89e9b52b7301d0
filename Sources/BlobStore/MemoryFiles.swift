internal import CLinux
package import EventLoop
internal import Glibc
internal import Synchronization
package import TransferModel

/// The bodies of ephemeral sessions: files in memory, in place of those in a directory, with a limit on the sum of all that such sessions
/// have.
///
/// What has a name here is kept open; its last name gone, the kernel gives the memory back once no reader has it.
package final class MemoryFiles: Sendable {
  private struct File {
    /// -1 if the bytes are elsewhere and are only counted here.
    var descriptor: Int32
    var size: Int64
    var isInRow = false
  }
  private struct State {
    var files: [SessionID: [String: File]] = [:]
    var used: Int64 = 0
    /// The part of `used` that is stored in rows.
    var usedInRows: Int64 = 0
  }

  /// Bytes of rows, bodies excluded, that do not count.
  static let freeRows: Int64 = 4 << 20

  /// Bytes of all of them together.
  package let capacity: Int64
  private let state = Mutex(State())

  /// Bytes of the rows of ephemeral sessions, including bodies in rows.
  private let rows: @Sendable () -> Int64

  package init(capacity: Int64, rows: @escaping @Sendable () -> Int64 = { 0 }) {
    self.capacity = capacity
    self.rows = rows
  }

  deinit {
    for files in state.withLock({ $0.files }).values {
      for file in files.values where file.descriptor >= 0 { Disk.close(file.descriptor) }
    }
  }

  package var used: Int64 { state.withLock { used($0) } }

  /// - Parameter rows: more bytes in rows.
  private func used(_ state: State, adding rows: Int64 = 0) -> Int64 {
    state.used + max(0, self.rows() + rows - state.usedInRows - Self.freeRows)
  }

  /// Bytes that a new task's rows take, about: its own, and those of its first events.
  package static let rowSize: Int64 = 4096

  /// Bytes to reserve for a value of that size: all beyond what `rowSize` allows for.
  package static func bytesToReserve(forValueOf size: Int) -> Int { max(0, size - Int(rowSize)) }

  package func hasRoom(for size: Int) -> Bool {
    state.withLock { used($0) + Int64(size) <= capacity }
  }

  /// Whether rows may grow by `size` bytes.
  package func hasRoom(forRows size: Int64) -> Bool {
    state.withLock { used($0, adding: size) <= capacity }
  }

  /// Reserves room for data that is stored in a row; false if there is not enough.
  package func reserve(_ size: Int64, as name: String, of session: SessionID) -> Bool {
    state.withLock { state in
      guard used(state) + size <= capacity else { return false }
      Self.remove(name, session, &state)
      state.used += size
      state.usedInRows += size
      state.files[session, default: [:]][name] = File(descriptor: -1, size: size, isInRow: true)
      return true
    }
  }

  /// Counts memory that a session takes elsewhere, in place of what is counted under that name.
  /// - Parameter mustFit: whether more than before is refused if there is not enough room.
  /// - Returns: false if it was refused.
  @discardableResult
  package func count(_ size: Int64, as name: String, of session: SessionID, mustFit: Bool) -> Bool {
    state.withLock { state in
      let old = state.files[session]?[name]?.size ?? 0
      guard !mustFit || size <= old || used(state) + size - old <= capacity else { return false }
      state.used += size - old
      if size > 0 {
        state.files[session, default: [:]][name] = File(descriptor: -1, size: size)
      } else {
        state.files[session]?[name] = nil
      }
      return true
    }
  }

  /// Gives room back.
  package func release(_ name: String, of session: SessionID) { remove(name, of: session) }

  /// Makes an empty file of that name; -1 with errno where that cannot be. The caller closes what it gets.
  func create(_ name: String, of session: SessionID) -> Int32 {
    let descriptor = Descriptors.yielding(clinux_memory_file("ferry-body"))
    guard descriptor >= 0 else { return -1 }
    state.withLock { state in
      Self.remove(name, session, &state)
      state.files[session, default: [:]][name] = File(descriptor: descriptor, size: 0)
    }
    return fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
  }

  /// A descriptor of the caller's own; -1 where there is no such file.
  func open(_ name: String, of session: SessionID) -> Int32 {
    state.withLock { state in
      guard let file = state.files[session]?[name], file.descriptor >= 0 else {
        errno = ENOENT
        return -1
      }
      return fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0)
    }
  }

  /// Takes room for a file's growth; false where there is not enough, or no such file any more.
  func grow(_ name: String, of session: SessionID, by count: Int64) -> Bool {
    state.withLock { state in
      guard var file = state.files[session]?[name], used(state) + count <= capacity else { return false }
      file.size += count
      state.used += count
      state.files[session]?[name] = file
      return true
    }
  }

  /// Cuts a file; false with errno where that cannot be.
  func truncate(_ name: String, of session: SessionID, to size: Int64) -> Bool {
    state.withLock { state in
      guard var file = state.files[session]?[name], file.descriptor >= 0,
        Disk.truncate(file.descriptor, to: size) == 0
      else { return false }
      state.used -= file.size - size
      file.size = size
      state.files[session]?[name] = file
      return true
    }
  }

  /// A second name for the same bytes, which count twice; false where there is no such file, or not enough room.
  func alias(_ name: String, as other: String, of session: SessionID) -> Bool {
    state.withLock { state in
      guard let file = state.files[session]?[name], file.descriptor >= 0 else {
        errno = ENOENT
        return false
      }
      guard used(state) + file.size <= capacity else {
        errno = EDQUOT
        return false
      }
      let descriptor = fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0)
      guard descriptor >= 0 else { return false }
      Self.remove(other, session, &state)
      state.used += file.size
      state.files[session, default: [:]][other] = File(descriptor: descriptor, size: file.size)
      return true
    }
  }

  /// False where there is no such file.
  @discardableResult
  func rename(_ name: String, to new: String, of session: SessionID) -> Bool {
    state.withLock { state in
      guard let file = state.files[session]?.removeValue(forKey: name) else { return false }
      Self.remove(new, session, &state)
      state.files[session, default: [:]][new] = file
      return true
    }
  }

  func remove(_ name: String, of session: SessionID) {
    state.withLock { Self.remove(name, session, &$0) }
  }

  func size(_ name: String, of session: SessionID) -> Int64? {
    state.withLock { $0.files[session]?[name]?.size }
  }

  func names(of session: SessionID) -> [String] {
    state.withLock { $0.files[session].map { Array($0.keys) } ?? [] }
  }

  /// Drops all that a session has. It is gone at once; the pool gives the memory back, which may take a while.
  package func wipe(_ session: SessionID, on pool: WorkerPool) {
    let files = state.withLock { state in
      let files = state.files.removeValue(forKey: session) ?? [:]
      state.used -= files.values.reduce(0) { $0 + $1.size }
      state.usedInRows -= files.values.reduce(0) { $0 + ($1.isInRow ? $1.size : 0) }
      return files
    }
    let descriptors = files.values.map(\.descriptor).filter { $0 >= 0 }
    guard !descriptors.isEmpty else { return }
    pool.submit { for descriptor in descriptors { Disk.close(descriptor) } }
  }

  private static func remove(_ name: String, _ session: SessionID, _ state: inout State) {
    guard let file = state.files[session]?.removeValue(forKey: name) else { return }
    if file.descriptor >= 0 { Disk.close(file.descriptor) }
    state.used -= file.size
    if file.isInRow { state.usedInRows -= file.size }
  }
}
