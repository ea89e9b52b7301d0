package import JSON

/// Whether an origin can be reached now, and how long each step took.
package struct Reachability: Sendable, Equatable {
  package enum Step: Sendable, Equatable {
    case ok(seconds: Double)
    /// After so long.
    case failed(seconds: Double)
    /// An earlier one failed, or there is no such step.
    case notTaken
  }

  package var url: String
  package var nameLookup = Step.notTaken
  package var connect = Step.notTaken
  package var tls = Step.notTaken
  /// The one that was connected to, or tried last.
  package var remoteAddress: String?
  package var error: TransferError?

  package init(url: String) { self.url = url }
}

extension Reachability: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("url", url)
      writer.field("isReachable", error == nil)
      writer.field("remoteAddress", remoteAddress)
      writer.key("dns")
      nameLookup.encode(into: &writer)
      writer.key("connect")
      connect.encode(into: &writer)
      writer.key("tls")
      tls.encode(into: &writer)
      writer.field("error", error)
    }
  }
}

extension Reachability.Step {
  fileprivate func encode(into writer: inout JSONWriter) {
    switch self {
    case .ok(let seconds): Self.encode(true, seconds, into: &writer)
    case .failed(let seconds): Self.encode(false, seconds, into: &writer)
    case .notTaken: writer.null()
    }
  }

  private static func encode(_ isOK: Bool, _ seconds: Double, into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("ok", isOK)
      writer.field("duration", seconds)
    }
  }
}
