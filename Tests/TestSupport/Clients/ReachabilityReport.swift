package import JSON
package import Testing

/// What a service says of whether an origin can be reached now.
package struct ReachabilityReport {
  package let json: JSONValue
  /// How the name, the connection and TLS went; nil where a step was not taken.
  package var steps: [Bool?] { ["dns", "connect", "tls"].map { json[$0]?["ok"]?.bool } }
  package var isReachable: Bool? { json["isReachable"]?.bool }
  package var code: Int64? { json["error"]?["code"]?.integer }
  package var name: String? { json["error"]?["name"]?.string }
  /// Of the steps, in order.
  package var durations: [Double] {
    ["dns", "connect", "tls"].compactMap { json[$0]?["duration"]?.double }
  }
}

extension FerryAPI {
  /// - Parameter timeout: JSON; empty: what the service takes.
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
    // A step that was not taken is there, and null; each that was taken has its time.
    #expect(report.steps.count { $0 != nil } == report.durations.count, sourceLocation: sourceLocation)
    #expect(report.durations.allSatisfy { $0 >= 0 && $0 < 15 }, sourceLocation: sourceLocation)
    #expect(report.isReachable == (reply.json["error"] == .null), sourceLocation: sourceLocation)
    return report
  }
}
