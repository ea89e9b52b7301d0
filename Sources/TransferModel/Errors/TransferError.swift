package import JSON

/// The reason why a task failed on the client's side (URLSession's `error`). An HTTP status alone is an error only if the client asked for
/// that (`ResponseRequirements`).
package struct TransferError: Error, Sendable, Equatable {
  package enum Reason: Sendable, Equatable {
    case url(URLErrorCode)
    case ferry(FerryErrorCode)
  }
  /// The cause as the underlying library reported it.
  package struct Underlying: Sendable, Equatable {
    package var library: String
    package var code: Int
    package init(library: String, code: Int) {
      self.library = library
      self.code = code
    }
  }

  package var reason: Reason
  package var message: String
  package var failingURL: String?
  package var underlying: Underlying?
  /// The egress rule that refused the destination.
  package var rule: String?
  /// The class of networks that the task may not use (NSURLErrorNetworkUnavailableReasonKey).
  package var networkUnavailableReason: String?
  /// The status of a complete response that failed the task or the attempt; `nil` if it failed otherwise.
  package var status: Int?
  /// Whether the received bytes were kept, so that a download can resume (NSURLSessionDownloadTaskResumeData).
  package var resumeDataAvailable = false

  package init(
    _ code: URLErrorCode, _ message: String, failingURL: String? = nil, underlying: Underlying? = nil
  ) {
    reason = .url(code)
    self.message = message
    self.failingURL = failingURL
    self.underlying = underlying
  }

  package init(_ code: FerryErrorCode, _ message: String, failingURL: String? = nil, rule: String? = nil) {
    reason = .ferry(code)
    self.message = message
    self.failingURL = failingURL
    self.rule = rule
  }

  package var domain: String {
    switch reason {
    case .url: "NSURLErrorDomain"
    case .ferry: "FerryErrorDomain"
    }
  }
  package var code: Int {
    switch reason {
    case .url(let code): code.rawValue
    case .ferry(let code): code.rawValue
    }
  }
  package var name: String {
    switch reason {
    case .url(let code): "\(code)"
    case .ferry(let code): "\(code)"
    }
  }
}

extension TransferError: CustomStringConvertible {
  /// The error as the log shows it.
  package var description: String { "\(name): \(message)" }
}

extension TransferError: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("domain", domain)
      writer.field("code", code)
      writer.field("name", name)
      writer.field("message", message)
      writer.field("failingURL", failingURL)
      writer.field("resumeDataAvailable", resumeDataAvailable)
      writer.key("underlying")
      if let underlying {
        writer.object { writer in
          writer.field("library", underlying.library)
          writer.field("code", underlying.code)
        }
      } else {
        writer.null()
      }
      if let rule { writer.field("rule", rule) }
      if let networkUnavailableReason { writer.field("networkUnavailableReason", networkUnavailableReason) }
      if let status { writer.field("status", status) }
    }
  }

  package init?(json: JSONValue) {
    guard let code = json["code"]?.integer.map({ Int($0) }) else { return nil }
    if json["domain"]?.string == "FerryErrorDomain" {
      guard let code = FerryErrorCode(rawValue: code) else { return nil }
      self.init(code, "", rule: json["rule"]?.string)
    } else {
      self.init(URLErrorCode(rawValue: code) ?? .unknown, "")
    }
    message = json["message"]?.string ?? ""
    failingURL = json["failingURL"]?.string
    networkUnavailableReason = json["networkUnavailableReason"]?.string
    status = json["status"]?.integer.map { Int($0) }
    resumeDataAvailable = json["resumeDataAvailable"]?.bool ?? false
    if let under = json["underlying"], let library = under["library"]?.string {
      underlying = Underlying(library: library, code: Int(under["code"]?.integer ?? 0))
    }
  }
}
