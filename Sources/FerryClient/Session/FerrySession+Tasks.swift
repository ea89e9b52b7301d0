public import FoundationEssentials
internal import Synchronization

// The methods that create tasks. The tasks are suspended.

extension FerrySession {
  private func add<Created: FerrySessionTask>(
    _ kind: TaskCallMachine.Kind, _ request: FerryRequest?, source: FerrySessionTask.Source = .none,
    handler: FerrySessionTask.Handler = .none, style: TaskCallMachine.Style? = nil, resumeData: Data? = nil,
    as make: (TaskSeed) -> Created
  ) -> Created {
    let isHandled = if case .none = handler { false } else { true }
    let size: Int64 =
      switch source {
      case .none: Int64(request?.httpBody?.count ?? (request?.httpBodyStream == nil ? 0 : -1))
      case .data(let data): Int64(data.count)
      case .file, .stream: -1
      }
    let machine = TaskCallMachine(
      kind: kind, style: style ?? (isHandled ? .completionHandler : .delegate), expectedToSend: size)
    let (identifier, isClosed, delegate) = state.withLock { state in
      defer { state.nextIdentifier += 1 }
      return (state.nextIdentifier, state.invalidation != nil, state.delegate)
    }
    let task = make(
      TaskSeed(
        identifier: identifier, request: request, source: source, handler: handler, machine: machine,
        resumeData: resumeData.map { String(decoding: $0, as: UTF8.self) }))
    state.withLock { $0.tasks[identifier] = task }
    (delegate as? any FerrySessionTaskDelegate)?.urlSession(self, didCreateTask: task)
    if isClosed {
      task.apply(.refused(FerryError(.cancelled, message: "the session is invalid; create another one")))
    } else if isBackground, isHandled || style != nil {
      let message = "a background session has no tasks with completion handlers; use its delegate"
      task.apply(.refused(FerryError(.unsupportedURL, message: message)))
    }
    return task
  }

  // MARK: Data

  /// Creates a data task.
  public func dataTask(with url: URL) -> FerrySessionDataTask { dataTask(with: FerryRequest(url: url)) }
  /// Creates a data task.
  public func dataTask(with request: FerryRequest) -> FerrySessionDataTask {
    add(.data, request) { FerrySessionDataTask($0, in: self) }
  }
  /// Creates a data task with a completion handler, which receives the whole body.
  public func dataTask(
    with url: URL, completionHandler: @escaping @Sendable (Data?, FerryResponse?, (any Error)?) -> Void
  ) -> FerrySessionDataTask {
    dataTask(with: FerryRequest(url: url), completionHandler: completionHandler)
  }
  /// Creates a data task with a completion handler, which receives the whole body.
  public func dataTask(
    with request: FerryRequest,
    completionHandler: @escaping @Sendable (Data?, FerryResponse?, (any Error)?) -> Void
  ) -> FerrySessionDataTask {
    add(.data, request, handler: .data(completionHandler)) { FerrySessionDataTask($0, in: self) }
  }

  // MARK: Uploads

  /// Creates a task that sends these bytes.
  public func uploadTask(with request: FerryRequest, from bodyData: Data) -> FerrySessionUploadTask {
    upload(request, .data(bodyData), .none)
  }
  /// Creates a task that sends these bytes, with a completion handler. Without bytes, the request's own body is sent.
  public func uploadTask(
    with request: FerryRequest, from bodyData: Data?,
    completionHandler: @escaping @Sendable (Data?, FerryResponse?, (any Error)?) -> Void
  ) -> FerrySessionUploadTask {
    upload(request, .data(bodyData ?? request.httpBody ?? Data()), .data(completionHandler))
  }
  /// Creates a task that sends a file of this machine. The file is read when the task begins.
  public func uploadTask(with request: FerryRequest, fromFile fileURL: URL) -> FerrySessionUploadTask {
    upload(request, .file(fileURL), .none)
  }
  /// Creates a task that sends a file of this machine, with a completion handler.
  public func uploadTask(
    with request: FerryRequest, fromFile fileURL: URL,
    completionHandler: @escaping @Sendable (Data?, FerryResponse?, (any Error)?) -> Void
  ) -> FerrySessionUploadTask { upload(request, .file(fileURL), .data(completionHandler)) }
  /// Creates a task whose delegate supplies the body: `urlSession(_:task:needNewBodyStream:)`.
  public func uploadTask(withStreamedRequest request: FerryRequest) -> FerrySessionUploadTask {
    upload(request, .stream, .none)
  }
  /// Creates a task that continues an upload.
  public func uploadTask(withResumeData resumeData: Data) -> FerrySessionUploadTask {
    add(.upload, nil, resumeData: resumeData) { FerrySessionUploadTask($0, in: self) }
  }

  /// Creates a task that continues an upload, with a completion handler.
  public func uploadTask(
    withResumeData resumeData: Data,
    completionHandler: @escaping @Sendable (Data?, FerryResponse?, (any Error)?) -> Void
  ) -> FerrySessionUploadTask {
    add(.upload, nil, handler: .data(completionHandler), resumeData: resumeData) {
      FerrySessionUploadTask($0, in: self)
    }
  }

  private func upload(
    _ request: FerryRequest, _ source: FerrySessionTask.Source, _ handler: FerrySessionTask.Handler
  ) -> FerrySessionUploadTask {
    add(.upload, request, source: source, handler: handler) { FerrySessionUploadTask($0, in: self) }
  }

  // MARK: Downloads

  /// Creates a download.
  public func downloadTask(with url: URL) -> FerrySessionDownloadTask {
    downloadTask(with: FerryRequest(url: url))
  }
  /// Creates a download.
  public func downloadTask(with request: FerryRequest) -> FerrySessionDownloadTask {
    add(.download, request) { FerrySessionDownloadTask($0, in: self) }
  }
  /// Creates a download with a completion handler. The file is deleted when the handler returns.
  public func downloadTask(
    with url: URL, completionHandler: @escaping @Sendable (URL?, FerryResponse?, (any Error)?) -> Void
  ) -> FerrySessionDownloadTask {
    downloadTask(with: FerryRequest(url: url), completionHandler: completionHandler)
  }
  /// Creates a download with a completion handler. The file is deleted when the handler returns.
  public func downloadTask(
    with request: FerryRequest,
    completionHandler: @escaping @Sendable (URL?, FerryResponse?, (any Error)?) -> Void
  ) -> FerrySessionDownloadTask {
    add(.download, request, handler: .download(keepsFile: false, completionHandler)) {
      FerrySessionDownloadTask($0, in: self)
    }
  }
  /// Creates a task that continues a download.
  public func downloadTask(withResumeData resumeData: Data) -> FerrySessionDownloadTask {
    add(.download, nil, resumeData: resumeData) { FerrySessionDownloadTask($0, in: self) }
  }
  /// Creates a task that continues a download, with a completion handler.
  public func downloadTask(
    withResumeData resumeData: Data,
    completionHandler: @escaping @Sendable (URL?, FerryResponse?, (any Error)?) -> Void
  ) -> FerrySessionDownloadTask {
    add(
      .download, nil, handler: .download(keepsFile: false, completionHandler), resumeData: resumeData
    ) { FerrySessionDownloadTask($0, in: self) }
  }

  // MARK: Tasks of async functions

  func keptDownload(
    _ request: FerryRequest?, resumeData: Data?,
    _ handler: @escaping @Sendable (URL?, FerryResponse?, (any Error)?) -> Void
  ) -> FerrySessionDownloadTask {
    add(.download, request, handler: .download(keepsFile: true, handler), resumeData: resumeData) {
      FerrySessionDownloadTask($0, in: self)
    }
  }

  func bytesTask(_ request: FerryRequest) -> FerrySessionDataTask {
    add(.data, request, style: .bytes) { FerrySessionDataTask($0, in: self) }
  }

  /// Makes the download that a data task has become.
  func adoptDownload(_ id: String, from task: FerrySessionTask) -> FerrySessionDownloadTask {
    var machine = TaskCallMachine(kind: .download, style: .delegate)
    machine.beginAsCreated()
    return adopt(id, task.originalRequest, machine, delegate: task.delegate) {
      FerrySessionDownloadTask($0, in: self)
    }
  }

  /// Adds a task that the service already knows.
  func adopt<Created: FerrySessionTask>(
    _ id: String, _ request: FerryRequest?, _ machine: TaskCallMachine,
    delegate: (any FerrySessionTaskDelegate)? = nil, as make: (TaskSeed) -> Created
  ) -> Created {
    let identifier = state.withLock { state in
      defer { state.nextIdentifier += 1 }
      return state.nextIdentifier
    }
    let task = make(TaskSeed(identifier: identifier, request: request, machine: machine, id: id))
    if let delegate { task.shared.withLock { $0.delegate = delegate } }
    state.withLock { $0.tasks[identifier] = task }
    return task
  }
}
