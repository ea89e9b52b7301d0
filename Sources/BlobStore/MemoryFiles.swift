internal import CLinux
package import EventLoop
internal import Glibc
internal import Synchronization
package import TransferModel

/// The bodies of ephemeral sessions: files in memory instead of a directory, with one limit for all such sessions.
///
/// A named file stays open here. After its last name is removed, the kernel frees the memory when the last reader closes it.
package final class MemoryFiles: Sendable {
  private struct File {
    /// The file's descriptor; -1 if the bytes are stored elsewhere and only counted here.
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

  /// The number of bytes of rows, without bodies, that do not count.
  static let freeRows: Int64 = 4 << 20

  /// The limit in bytes for all sessions together.
  package let capacity: Int64
  private let state = Mutex(State())

  /// The bytes of the rows of ephemeral sessions, including bodies in rows.
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

  /// Returns the counted bytes.
  /// - Parameter rows: additional bytes in rows.
  private func used(_ state: State, adding rows: Int64 = 0) -> Int64 {
    state.used + max(0, self.rows() + rows - state.usedInRows - Self.freeRows)
  }

  /// The approximate size in bytes of a new task's row and first events.
  package static let rowSize: Int64 = 4096

  /// Returns the bytes to reserve for a value of that size: all that `rowSize` does not cover.
  package static func bytesToReserve(forValueOf size: Int) -> Int { max(0, size - Int(rowSize)) }

  package func hasRoom(for size: Int) -> Bool {
    state.withLock { used($0) + Int64(size) <= capacity }
  }

  /// Whether rows may grow by `size` bytes.
  package func hasRoom(forRows size: Int64) -> Bool {
    state.withLock { used($0, adding: size) <= capacity }
  }

  /// Reserves room for data that is stored in a row; `false` if there is not enough.
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

  /// Replaces the count of a session's memory elsewhere under that name.
  /// - Parameter mustFit: whether growth beyond the capacity is refused.
  /// - Returns: `false` if the growth was refused.
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

  /// Releases a reservation.
  package func release(_ name: String, of session: SessionID) { remove(name, of: session) }

  /// Creates an empty file of that name. The caller must close the returned descriptor; -1 with errno on failure.
  func create(_ name: String, of session: SessionID) -> Int32 {
    let descriptor = Descriptors.rejectingReserved(clinux_memory_file("ferry-body"))
    guard descriptor >= 0 else { return -1 }
    state.withLock { state in
      Self.remove(name, session, &state)
      state.files[session, default: [:]][name] = File(descriptor: descriptor, size: 0)
    }
    return fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
  }

  /// Returns a descriptor that the caller must close; -1 if there is no such file.
  func open(_ name: String, of session: SessionID) -> Int32 {
    state.withLock { state in
      guard let file = state.files[session]?[name], file.descriptor >= 0 else {
        errno = ENOENT
        return -1
      }
      return fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0)
    }
  }

  /// Reserves room for a file's growth; `false` if there is not enough, or the file no longer exists.
  func grow(_ name: String, of session: SessionID, by count: Int64) -> Bool {
    state.withLock { state in
      guard var file = state.files[session]?[name], used(state) + count <= capacity else { return false }
      file.size += count
      state.used += count
      state.files[session]?[name] = file
      return true
    }
  }

  /// Truncates a file; `false` with errno on failure.
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

  /// Gives the same bytes a second name, and counts them twice; `false` if there is no such file, or not enough room.
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

  /// Renames a file; `false` if there is no such file.
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

  /// Deletes all files of a session. Their names are gone at once; the pool frees the memory later.
  package func removeAll(_ session: SessionID, on pool: ThreadPool) {
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
