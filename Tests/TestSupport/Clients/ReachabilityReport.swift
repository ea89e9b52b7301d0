package import JSON
package import Testing

/// A service's report on whether an origin is reachable.
package struct ReachabilityReport {
  package let json: JSONValue
  /// The success of the name lookup, the connection and TLS. `nil` if the step was not taken.
  package var steps: [Bool?] { ["dns", "connect", "tls"].map { json[$0]?["ok"]?.bool } }
  package var isReachable: Bool? { json["isReachable"]?.bool }
  package var code: Int64? { json["error"]?["code"]?.integer }
  package var name: String? { json["error"]?["name"]?.string }
  /// The durations of the steps in seconds, in order.
  package var durations: [Double] {
    ["dns", "connect", "tls"].compactMap { json[$0]?["duration"]?.double }
  }
}

extension FerryAPI {
  /// - Parameter timeout: The timeout as JSON. If empty, the service's default.
  package func reach(
    _ url: String, timeout: String = "", sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> ReachabilityReport {
    let body = #"{"url":"\#(url)"\#(timeout.isEmpty ? "" : ",\"timeoutInterval\":")\#(timeout)}"#
    let reply = try call("POST", "/v1/reachability", body)
    #expect(reply.status == 200, sourceLocation: sourceLocation)
    #expect(reply["Cache-Control"] == "no-store", sourceLocation: sourceLocation)
    let names = reply.json.members?.map(\.name)
    #expect(
      names == ["url", "isReachable", "remoteAddress", "dns", "connect", "tls", "error"],
      sourceLocation: sourceLocation)
    let report = ReachabilityReport(json: reply.json)
    #expect(reply.json["url"]?.string == url, sourceLocation: sourceLocation)
    // A step that was not taken is null, and every other step has a duration.
    #expect(report.steps.count { $0 != nil } == report.durations.count, sourceLocation: sourceLocation)
    #expect(report.durations.allSatisfy { $0 >= 0 && $0 < 15 }, sourceLocation: sourceLocation)
    #expect(report.isReachable == (reply.json["error"] == .null), sourceLocation: sourceLocation)
    return report
  }
}
