internal import JSON
internal import Limits
internal import TransferModel
internal import TransferService

/// The body of a request that creates a task.
enum TaskPayload {
  /// Reads a task's specification and completes it with the service's values.
  static func specification(
    _ value: JSONValue, in session: TransferSession, _ view: TenantView
  ) async throws -> TaskSpecification {
    var specification = try specification(
      value, background: session.type == .background ? session : nil, hasDelegate: session.delegate != nil,
      resuming: view.specification(resuming:))
    try view.checkEgress(of: [
      (specification.completion, "/completion/webhook/url"),
      (specification.preferences.delegate?.webhook, "/delegate/webhook/url"),
    ])
    if session.type == .ephemeral, specification.preferences.group != nil {
      throw Problem(
        .unprocessable,
        violations: [
          FieldViolation(
            pointer: "/group",
            detail: "must be left out in an ephemeral session, whose tasks are not stored; use labels")
        ])
    }
    try await view.complete(&specification, in: session)
    return specification
  }

  /// Reads a task's specification.
  /// - Parameters:
  ///   - background: the task's session, if it is a background session.
  ///   - hasDelegate: whether the session has a delegate.
  ///   - resuming: reads resume data, and returns `nil` if they are not valid.
  /// - Throws: a problem with all violations.
  static func specification(
    _ value: JSONValue, background: TransferSession? = nil, hasDelegate: Bool = true,
    resuming: (String) -> TaskSpecification?
  ) throws(Problem) -> TaskSpecification {
    let violations = Violations()
    var reader = ObjectReader(value, at: "", violations)
    guard value.isObject else { throw Problem(violations) }
    reader.allowNull(
      "resumeData", "description", "earliestBeginDate", "maximumBytesPerSecond", "completion")
    let kind = reader.requiredChoice("kind") ?? TaskKind.data
    var specification = readSource(&reader, kind, resuming)
    specification.resume = reader.bool("resume") ?? false
    specification.priority = reader.number("priority", in: 0...1) ?? TaskSpecification.defaultPriority
    specification.description = reader.string("description", upTo: Limits.descriptionBytes.value)
    specification.earliestBeginDate = reader.timestamp("earliestBeginDate")
    specification.maximumBytesPerSecond = reader.integer("maximumBytesPerSecond", in: 1...1_000_000_000_000)
    specification.preferences = TaskPreferences(validating: &reader, of: kind)
    WebhookPayload.check(specification.preferences.delegate?.webhook, at: "/delegate/webhook/url", violations)
    if specification.request.method == "HEAD", specification.preferences.requirements.expected != nil {
      reader.reject("expected", "must be left out for HEAD, whose response has no body")
    }
    if specification.request.body?.isStream == true, specification.preferences.retry != nil {
      reader.reject("retry", "must be left out for a streamed body, which cannot be sent again")
    }
    specification.completion = readCompletion(&reader)
    if !hasDelegate, specification.preferences.delegate == nil, specification.request.body?.isStream == true {
      reader.violations.add(
        "/request/body",
        "must not be a stream unless the session or the task has a delegate; {} is enough"
      )
    }
    if let background { check(specification, in: background, &reader) }
    reader.finish(explaining: UnsupportedNames.task)
    guard violations.isEmpty else { throw Problem(violations) }
    return specification
  }

  /// Reads the request, or the resume data of a download or an upload.
  private static func readSource(
    _ reader: inout ObjectReader, _ kind: TaskKind, _ resuming: (String) -> TaskSpecification?
  ) -> TaskSpecification {
    if let data = reader.string("resumeData") {
      let read = resuming(data)
      if kind == .data {
        reader.reject("resumeData", "must be left out for a data task")
      } else if let read, read.kind != kind {
        reader.reject("resumeData", "belongs to a task of kind \(read.kind.rawValue); use that kind")
      } else if read == nil {
        reader.reject(
          "resumeData", "was not created by this service, or was changed; start the task from its request")
      }
      if reader.value("request") != nil {
        reader.reject("request", "must be left out if resumeData is given")
      }
      return read ?? TaskSpecification(kind: kind, request: TransferRequest(url: ""))
    }
    guard var fields = reader.object("request") else {
      if reader.isMissing("request"), reader.value("resumeData") == nil {
        reader.reject("request", "is required")
      }
      return TaskSpecification(kind: kind, request: TransferRequest(url: ""))
    }
    // The default method of an upload is POST.
    let request = TransferRequest(validating: &fields, defaultMethod: kind == .upload ? "POST" : "GET")
    if kind == .upload, request.body == nil, fields.value("body")?.members?.isEmpty ?? true {
      fields.reject("body", "is required for an upload task")
    }
    return TaskSpecification(kind: kind, request: request)
  }

  /// Checks the rules for tasks of background sessions.
  private static func check(
    _ specification: TaskSpecification, in session: TransferSession, _ reader: inout ObjectReader
  ) {
    let isResumed = reader.value("resumeData") != nil
    if let fault = specification.request.backgroundFault(of: specification.kind) {
      reader.violations.add(isResumed ? "/resumeData" : "/request/body", fault)
    }
    if specification.preferences.delegate != nil {
      reader.reject(
        "delegate", "must be left out in a background session, whose own delegate receives the events")
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
