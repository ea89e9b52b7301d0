internal import JSON
internal import Limits
internal import TransferModel
internal import TransferService

/// What a client sends to create a task.
enum TaskPayload {
  /// The specification, with what only the service knows of it.
  static func specification(
    _ value: JSONValue, in session: TransferSession, _ view: TenantView
  ) async throws -> TaskSpecification {
    var specification = try specification(
      value, background: session.type == .background ? session : nil, hasDelegate: session.delegate != nil,
      resuming: view.specification(resuming:))
    try await view.complete(&specification, in: session)
    return specification
  }

  /// The specification, or everything that is wrong with it.
  /// - Parameters:
  ///   - background: the task's session, where that is one of those.
  ///   - hasDelegate: of the session.
  ///   - resuming: reads resume data; nil where it is none.
  static func specification(
    _ value: JSONValue, background: TransferSession? = nil, hasDelegate: Bool = true,
    resuming: (String) -> TaskSpecification?
  ) throws(Problem) -> TaskSpecification {
    let violations = Violations()
    var reader = ObjectReader(value, at: "", violations)
    guard value.isObject else { throw Problem(violations) }
    reader.allowNull(
      "resumeData", "description", "earliestBeginDate", "maximumBytesPerSecond", "completion")
    let kind = readKind(&reader) ?? .data
    var specification = readSource(&reader, kind, resuming)
    specification.resume = reader.bool("resume") ?? false
    specification.priority = reader.number("priority", in: 0...1) ?? TaskSpecification.defaultPriority
    specification.description = reader.string("description", upTo: Limits.descriptionBytes.value)
    specification.earliestBeginDate = reader.timestamp("earliestBeginDate")
    specification.maximumBytesPerSecond = reader.integer("maximumBytesPerSecond", in: 1...1_000_000_000_000)
    specification.preferences = TaskPreferences(validating: &reader, of: kind)
    WebhookPayload.check(specification.preferences.delegate?.webhook, at: "/delegate/webhook/url", violations)
    specification.completion = readCompletion(&reader)
    if !hasDelegate, specification.preferences.delegate == nil, specification.request.body?.isStream == true {
      reader.violations.add(
        "/request/body",
        "must not be a stream without a delegate, which is asked for it: of the session or of the task, be it an empty one"
      )
    }
    if let background { check(specification, in: background, &reader) }
    reader.finish(explaining: UnsupportedNames.task)
    guard violations.isEmpty else { throw Problem(violations) }
    return specification
  }

  private static func readKind(_ reader: inout ObjectReader) -> TaskKind? {
    if let kind: TaskKind = reader.choice("kind") { return kind }
    if reader.isMissing("kind") { reader.reject("kind", "is required") }
    return nil
  }

  /// What to ask for: a request, or where a download goes on.
  private static func readSource(
    _ reader: inout ObjectReader, _ kind: TaskKind, _ resuming: (String) -> TaskSpecification?
  ) -> TaskSpecification {
    if let data = reader.string("resumeData") {
      let read = resuming(data)
      if kind == .data {
        reader.reject("resumeData", "is for download and upload tasks")
      } else if let read, read.kind != kind {
        reader.reject("resumeData", "is of a task of kind \(read.kind.rawValue)")
      } else if read == nil {
        reader.reject("resumeData", "is not this service's, or was changed")
      }
      if reader.value("request") != nil {
        reader.reject("request", "goes without resumeData, or the other way round")
      }
      return read ?? TaskSpecification(kind: kind, request: TransferRequest(url: ""))
    }
    guard var fields = reader.object("request") else {
      if reader.isMissing("request"), reader.value("resumeData") == nil {
        reader.reject("request", "is required")
      }
      return TaskSpecification(kind: kind, request: TransferRequest(url: ""))
    }
    // An upload without a method posts.
    let request = TransferRequest(validating: &fields, defaultMethod: kind == .upload ? "POST" : "GET")
    if kind == .upload, request.body == nil, fields.value("body")?.members?.isEmpty ?? true {
      fields.reject("body", "is required for an upload task")
    }
    return TaskSpecification(kind: kind, request: request)
  }

  /// What background sessions ask of their tasks beyond what others do.
  private static func check(
    _ specification: TaskSpecification, in session: TransferSession, _ reader: inout ObjectReader
  ) {
    let isResumed = reader.value("resumeData") != nil
    if let fault = specification.request.backgroundFault(of: specification.kind) {
      reader.violations.add(isResumed ? "/resumeData" : "/request/body", fault)
    }
    if specification.completion != nil {
      reader.reject(
        "completion", "background sessions take no completion handlers: their delegate has a webhook")
    }
    if specification.preferences.delegate != nil {
      reader.reject(
        "delegate", "is not for tasks of background sessions: their session's delegate hears of them")
    }
  }

  private static func readCompletion(_ reader: inout ObjectReader) -> Webhook? {
    guard var completion = reader.object("completion") else { return nil }
    defer { completion.finish() }
    guard var fields = completion.object("webhook") else {
      if completion.isMissing("webhook") { completion.reject("webhook", "is required") }
      return nil
    }
    let webhook = Webhook(validating: &fields)
    fields.finish()
    WebhookPayload.check(webhook, at: fields.pointer(to: "url"), reader.violations)
    return webhook
  }
}
