package import JSON

/// The reachability of an origin, with the duration of each step.
package struct Reachability: Sendable, Equatable {
  package enum Step: Sendable, Equatable {
    case ok(seconds: Double)
    /// The step failed after this time.
    case failed(seconds: Double)
    /// An earlier step failed, or the step does not apply.
    case skipped
  }

  package var url: String
  package var nameLookup = Step.skipped
  package var connect = Step.skipped
  package var tls = Step.skipped
  /// The connected address, or the last one that was tried.
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
    case .skipped: writer.null()
    }
  }

  private static func encode(_ isOK: Bool, _ seconds: Double, into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("ok", isOK)
      writer.field("duration", seconds)
    }
  }
}
