internal import Crypto
internal import EventLoop
internal import FerryClient
internal import Glibc
internal import Processes
internal import TransferModel
internal import Limits

/// The copy of a body into its file. The file appears under its name only when it is complete and its digest is right.
struct BodyFile {
  let state: GetState
  let connection: ServiceConnection
  /// The name that the user has chosen; such a file replaces an earlier one.
  let output: String?

  func fetch(_ body: TransferItem.Body, task: String, key: String) async
    -> Result<TransferItem.PlacedFile, TransferItem.Failure>
  {
    do throws(TransferItem.Failure) {
      if let record = state.records[key], record.file == nil, let file = finished(record.name, body) {
        try journal(key, record.name, file)
        return .success(file)
      }
      if let output, let descriptor = Self.openStream(state.file(output)) {
        defer { close(descriptor) }
        try await copy(body, task: task, to: descriptor, path: output)
        return .success(.init(path: state.file(output), size: body.size, sha256: body.sha256))
      }
      // The temporary file is in the directory of the file, so that a new name suffices at the end.
      let directory = output.map { OutputDirectory.of(state.file($0)) }
      let draft = GetState.file(".ferry-\(key).part", in: directory ?? state.target)
      do throws(TransferItem.Failure) {
        try await copy(body, task: task, to: draft)
        return .success(try place(draft, body, key: key))
      } catch {
        unlink(draft)
        throw error
      }
    } catch {
      return .failure(error)
    }
  }

  private func copy(_ body: TransferItem.Body, task: String, to path: String) async throws(TransferItem
    .Failure)
  {
    unlink(path)
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o666)
    guard descriptor >= 0 else { throw fileFailure(path) }
    defer { close(descriptor) }
    try await copy(body, task: task, to: descriptor, path: path)
    guard fsync(descriptor) == 0 else { throw fileFailure(path) }
  }

  private func copy(
    _ body: TransferItem.Body, task: String, to descriptor: Int32, path: String
  ) async throws(TransferItem.Failure) {
    try await Self.copy(body, task: task, from: connection) { (bytes) throws(TransferItem.Failure) in
      guard DescriptorTransfer.writeAll(bytes, to: descriptor) else { throw fileFailure(path) }
    }
  }

  /// Opens a device or a pipe; `nil` for a regular file and for a name without a file.
  private static func openStream(_ path: String) -> Int32? {
    var information = stat()
    guard stat(path, &information) == 0, information.st_mode & S_IFMT != S_IFREG else { return nil }
    let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY)
    return descriptor >= 0 ? descriptor : nil
  }

  /// Reads a body from the service, and compares it with its size and digest.
  static func copy(
    _ body: TransferItem.Body, task: String, from connection: ServiceConnection,
    to write: ([UInt8]) throws(TransferItem.Failure) -> Void
  ) async throws(TransferItem.Failure) {
    var digest = SHA256()
    var size: Int64 = 0
    let stream: ServiceStream
    do throws(ServiceError) {
      stream = try await connection.stream(ServiceRequest("GET", "/v1/tasks/\(task)/body"))
    } catch { throw serviceFailure(error) }
    while true {
      let bytes: [UInt8]?
      do throws(ServiceError) { bytes = try await stream.next() } catch { throw serviceFailure(error) }
      guard let bytes else { break }
      digest.update(data: bytes)
      size += Int64(bytes.count)
      try write(bytes)
    }
    guard size == body.size, Hexadecimal.text(Array(digest.finalize())) == body.sha256 else {
      throw .init(cause: .mismatch, message: "the copy of the body has another size or digest")
    }
  }

  private static func serviceFailure(_ error: ServiceError) -> TransferItem.Failure {
    .init(cause: CommandFailure(error).cause, message: error.description)
  }

  private func fileFailure(_ path: String) -> TransferItem.Failure {
    .init(cause: .file, message: "\(path): \(ProcessHandle.text(ofError: errno))")
  }

  private func journal(_ key: String, _ name: String, _ file: TransferItem.PlacedFile? = nil)
    throws(TransferItem.Failure)
  {
    do throws(CommandFailure) { try state.record(key, name: name, file: file) } catch {
      throw .init(cause: .file, message: error.description)
    }
  }

  // MARK: Names

  private func place(_ draft: String, _ body: TransferItem.Body, key: String) throws(TransferItem.Failure)
    -> TransferItem.PlacedFile
  {
    if let output {
      let path = state.file(output)
      guard rename(draft, path) == 0 else { throw fileFailure(path) }
      return try finish(path, output, body, key)
    }
    let name = FileNames.safe(body.suggestedName)
    for number in 0..<ClientLimits.fileNumbers.value {
      let numbered = FileNames.numbered(name, number)
      let path = state.file(numbered)
      try journal(key, numbered)
      if link(draft, path) == 0 {
        unlink(draft)
        return try finish(path, numbered, body, key)
      }
      if errno == EEXIST { continue }
      // The file system has no hard links.
      let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o666)
      if descriptor < 0, errno == EEXIST { continue }
      guard descriptor >= 0 else { throw fileFailure(path) }
      close(descriptor)
      guard rename(draft, path) == 0 else { throw fileFailure(path) }
      return try finish(path, numbered, body, key)
    }
    throw .init(cause: .file, message: "\(state.file(name)): too many files with this name")
  }

  private func finish(_ path: String, _ name: String, _ body: TransferItem.Body, _ key: String)
    throws(TransferItem.Failure) -> TransferItem.PlacedFile
  {
    let file = TransferItem.PlacedFile(path: path, size: body.size, sha256: body.sha256)
    try journal(key, name, file)
    return file
  }

  /// Returns the file that an earlier command has placed but not recorded as finished.
  private func finished(_ name: String, _ body: TransferItem.Body) -> TransferItem.PlacedFile? {
    let path = state.file(name)
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var digest = SHA256()
    var buffer = [UInt8](repeating: 0, count: 256 << 10)
    var size: Int64 = 0
    while case let count = read(descriptor, &buffer, buffer.count), count > 0 {
      digest.update(data: buffer[..<count])
      size += Int64(count)
    }
    guard size == body.size, Hexadecimal.text(Array(digest.finalize())) == body.sha256 else {
      return nil
    }
    return .init(path: path, size: size, sha256: body.sha256)
  }
}
