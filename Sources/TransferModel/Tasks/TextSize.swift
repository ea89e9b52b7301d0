package import HTTPFields

// Bytes of the texts that a client or an origin chose, for limits on memory. `TaskPreferences` counts its own texts.

extension HTTPHeaders {
  package var textSize: Int { fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count } }
}

extension TransferRequest {
  /// The bytes of the texts, without the body.
  package var textSize: Int {
    let names = secretHeaderFields?.reduce(0) { $0 + $1.utf8.count } ?? 0
    return url.utf8.count + method.utf8.count + headers.textSize + (mainDocumentURL?.utf8.count ?? 0) + names
  }

  /// The bytes of a body that is in memory.
  package var bodySizeInMemory: Int { body?.data?.count ?? 0 }
}

extension TaskSpecification {
  /// The bytes of the texts, without the body.
  package var textSize: Int {
    request.textSize + Self.textSize(description, completion, preferences, resumePoint)
  }

  fileprivate static func textSize(
    _ description: String?, _ completion: Webhook?, _ preferences: TaskPreferences, _ point: ResumePoint?
  ) -> Int {
    (description?.utf8.count ?? 0) + (completion?.textSize ?? 0) + preferences.textSize
      + (point?.textSize ?? 0)
  }
}

extension TransferTask {
  /// The bytes of its requests with their bodies, and of the texts that it was created with.
  package var textSize: Int {
    var size = originalRequest.textSize + originalRequest.bodySizeInMemory
    if !isAtOriginalRequest { size += currentRequest.textSize + currentRequest.bodySizeInMemory }
    if let start = startRequest?.request, start != currentRequest {
      size += start.textSize + start.bodySizeInMemory
    }
    return size + TaskSpecification.textSize(description, completion, preferences, resumePoint)
  }
}

extension Webhook {
  var textSize: Int { url.utf8.count + (secret?.utf8.count ?? 0) }
}

extension ResumePoint {
  fileprivate var textSize: Int {
    switch self {
    case .download(let point): point.partial.validator.utf8.count + (point.partial.resource?.utf8.count ?? 0)
    case .upload(let point): point.resource.utf8.count
    }
  }
}
