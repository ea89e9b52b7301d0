public import FoundationEssentials
internal import EventLoop
internal import Synchronization

// The async functions. A cancelled task of Swift cancels the task of the session.

extension FerrySession {
  /// Returns the body and the response of a URL.
  public func data(
    from url: URL, delegate: (any FerrySessionTaskDelegate)? = nil
  ) async throws -> (Data, FerryResponse) { try await data(for: FerryRequest(url: url), delegate: delegate) }

  /// Returns the body and the response of a request.
  public func data(
    for request: FerryRequest, delegate: (any FerrySessionTaskDelegate)? = nil
  ) async throws -> (Data, FerryResponse) {
    try await run(delegate) { dataTask(with: request, completionHandler: $0) }
  }

  /// Sends bytes, and returns the body and the response.
  public func upload(
    for request: FerryRequest, from bodyData: Data, delegate: (any FerrySessionTaskDelegate)? = nil
  ) async throws -> (Data, FerryResponse) {
    try await run(delegate) { uploadTask(with: request, from: bodyData, completionHandler: $0) }
  }

  /// Sends a file of this machine, and returns the body and the response.
  public func upload(
    for request: FerryRequest, fromFile fileURL: URL, delegate: (any FerrySessionTaskDelegate)? = nil
  ) async throws -> (Data, FerryResponse) {
    try await run(delegate) { uploadTask(with: request, fromFile: fileURL, completionHandler: $0) }
  }

  /// Continues an upload, and returns the body and the response.
  public func upload(
    resumeFrom resumeData: Data, delegate: (any FerrySessionTaskDelegate)? = nil
  ) async throws -> (Data, FerryResponse) {
    try await run(delegate) { uploadTask(withResumeData: resumeData, completionHandler: $0) }
  }

  /// Returns a file with the body of a URL, and the response. Move or delete the file.
  public func download(
    from url: URL, delegate: (any FerrySessionTaskDelegate)? = nil
  ) async throws -> (URL, FerryResponse) {
    try await download(for: FerryRequest(url: url), delegate: delegate)
  }

  /// Returns a file with the body of a request, and the response. Move or delete the file.
  public func download(
    for request: FerryRequest, delegate: (any FerrySessionTaskDelegate)? = nil
  ) async throws -> (URL, FerryResponse) {
    try await run(delegate) { keptDownload(request, resumeData: nil, $0) }
  }

  /// Downloads to a file on the service's machine, and returns this file and the response. Ferry's own addition.
  public func download(
    for request: FerryRequest, to destination: FerryDestination,
    delegate: (any FerrySessionTaskDelegate)? = nil
  ) async throws -> (URL, FerryResponse) {
    try await run(delegate) { handler in
      let task = keptDownload(request, resumeData: nil, handler)
      task.destination = destination
      return task
    }
  }

  /// Continues a download, and returns its file and the response. Move or delete the file.
  public func download(
    resumeFrom resumeData: Data, delegate: (any FerrySessionTaskDelegate)? = nil
  ) async throws -> (URL, FerryResponse) {
    try await run(delegate) { keptDownload(nil, resumeData: resumeData, $0) }
  }

  /// Returns the bytes of a URL's body while they arrive, and the response.
  public func bytes(
    from url: URL, delegate: (any FerrySessionTaskDelegate)? = nil
  ) async throws -> (AsyncBytes, FerryResponse) {
    try await bytes(for: FerryRequest(url: url), delegate: delegate)
  }

  /// Returns the bytes of a response while they arrive, and the response.
  public func bytes(
    for request: FerryRequest, delegate: (any FerrySessionTaskDelegate)? = nil
  ) async throws -> (AsyncBytes, FerryResponse) {
    let task = bytesTask(request)
    task.delegate = delegate
    let waiter = Waiter()
    task.shared.withLock { $0.onResponse = waiter }
    return try await withTaskCancellationHandler {
      task.resume()
      await waiter.wait()
      guard let response = task.response else { throw task.error ?? FerryError(.unknown) }
      return (AsyncBytes(lifetime: AsyncBytes.Lifetime(task)), response)
    } onCancel: {
      task.cancel()
    }
  }

  private func run<Value: Sendable>(
    _ delegate: (any FerrySessionTaskDelegate)?,
    _ make: (@escaping @Sendable (Value?, FerryResponse?, (any Error)?) -> Void) -> FerrySessionTask
  ) async throws -> (Value, FerryResponse) {
    let waiter = Waiter()
    let outcome = FerryOutcome<Value>()
    let task = make { value, response, error in
      if let value, let response {
        outcome.set(.success((value, response)))
      } else {
        outcome.set(.failure(error ?? FerryError(.unknown, message: "the task has no response")))
      }
      waiter.resume()
    }
    task.delegate = delegate
    return try await withTaskCancellationHandler {
      task.resume()
      await waiter.wait()
      return try outcome.get()
    } onCancel: {
      task.cancel()
    }
  }

  /// The bytes of a response while they arrive. `URLSession.AsyncBytes` in Apple's URLSession. A body has one reader.
  public struct AsyncBytes: AsyncSequence, Sendable {
    /// One byte.
    public typealias Element = UInt8
    /// Cancels a task that has not ended when its bytes have no further reader.
    final class Lifetime: Sendable {
      let task: FerrySessionDataTask
      init(_ task: FerrySessionDataTask) { self.task = task }
      deinit { task.cancel() }
    }
    /// The task. It is cancelled when neither the sequence nor its reader exists.
    public var task: FerrySessionDataTask { lifetime.task }
    let lifetime: Lifetime

    /// Returns the reader.
    public func makeAsyncIterator() -> Iterator { Iterator(lifetime: lifetime) }

    /// The reader of a body.
    public struct Iterator: AsyncIteratorProtocol {
      var task: FerrySessionDataTask { lifetime.task }
      private let lifetime: Lifetime
      private var body: ResponseBody?
      private var piece = Data()
      private var position = 0

      init(lifetime: Lifetime) { self.lifetime = lifetime }

      /// Returns the next byte; `nil` at the end.
      public mutating func next() async throws -> UInt8? {
        while position >= piece.count {
          guard let next = try await nextPiece() else { return nil }
          (piece, position) = (next, 0)
        }
        defer { position += 1 }
        return piece[piece.startIndex + position]
      }

      private mutating func nextPiece() async throws -> Data? {
        if Task.isCancelled { task.cancel() }
        let result = await withTaskCancellationHandler {
          await readPiece()
        } onCancel: { [task] in
          task.cancel()
        }
        return try result.get()
      }

      private mutating func readPiece() async -> Result<Data?, any Error> {
        do throws(FerryError) {
          if body == nil {
            let service = try await task.session.started()
            body = try await service.body(of: task.id ?? "", from: 0)
          }
          if let piece = try await body?.next() { return .success(piece) }
        } catch {
          // The end of the task has the reason.
          await task.end()
          return .failure(task.error ?? error)
        }
        await task.end()
        return task.error.map { .failure($0) } ?? .success(nil)
      }
    }
  }
}

/// The result of an async function, which the completion handler sets once.
private final class FerryOutcome<Value: Sendable>: Sendable {
  private let result = Mutex<Result<(Value, FerryResponse), any Error>?>(nil)
  func set(_ result: Result<(Value, FerryResponse), any Error>) { self.result.withLock { $0 = result } }
  func get() throws -> (Value, FerryResponse) {
    try result.withLock { $0 }?.get() ?? { throw FerryError(.unknown) }()
  }
}
