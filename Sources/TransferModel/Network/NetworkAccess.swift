internal import JSON

/// The kinds of network that a task may use (URLRequest.allowsCellularAccess and its siblings).
package struct NetworkAccess: Sendable, Equatable {
  package var allowsCellularAccess = true
  package var allowsExpensiveNetworkAccess = true
  package var allowsConstrainedNetworkAccess = true

  package init() {}

  /// Returns the kinds that both values allow.
  package func intersection(_ other: NetworkAccess) -> NetworkAccess {
    var both = self
    both.allowsCellularAccess = allowsCellularAccess && other.allowsCellularAccess
    both.allowsExpensiveNetworkAccess = allowsExpensiveNetworkAccess && other.allowsExpensiveNetworkAccess
    both.allowsConstrainedNetworkAccess =
      allowsConstrainedNetworkAccess && other.allowsConstrainedNetworkAccess
    return both
  }
}

extension NetworkAccess {
  func encodeMembers(into writer: inout JSONWriter) {
    writer.field("allowsCellularAccess", allowsCellularAccess)
    writer.field("allowsExpensiveNetworkAccess", allowsExpensiveNetworkAccess)
    writer.field("allowsConstrainedNetworkAccess", allowsConstrainedNetworkAccess)
  }
}

extension NetworkAccess {
  /// Reads the members of a configuration or a request.
  init(validating reader: inout ObjectReader, over base: NetworkAccess = .init()) {
    self = base
    allowsCellularAccess = reader.bool("allowsCellularAccess") ?? allowsCellularAccess
    allowsExpensiveNetworkAccess = reader.bool("allowsExpensiveNetworkAccess") ?? allowsExpensiveNetworkAccess
    allowsConstrainedNetworkAccess =
      reader.bool("allowsConstrainedNetworkAccess") ?? allowsConstrainedNetworkAccess
  }
}
