import JSON
import TestSupport
import Testing

/// `httpShouldUsePipelining` and `httpMaximumConnectionsPerHost`, measured on the connections.
@Suite(.serialized, .blocking, .sharing) struct MultiplexingTests {
  private let nginx: NginxServer
  private let ferry: FerryProcess

  init() throws {
    nginx = try NginxServer(files: ["large.bin": 300_000])
    ferry = try .ofSuite(trustsAuthority: true)
  }

  /// Runs downloads at a limited rate, created in one batch.
  /// - Returns: The largest number of simultaneous requests, and the number of connections.
  private func run(_ count: Int, _ face: NginxServer.Site, _ configuration: String) throws -> (
    atOnce: Int, connections: Int
  ) {
    let session = try ferry.session(configuration)
    let url = nginx.url(face, "/large.bin")
    let line =
      #"{"kind":"download","resume":true,"maximumBytesPerSecond":300000,"request":{"url":"\#(url)"}}"# + "\n"
    let reply = try ferry.call(
      "POST", "/v1/sessions/\(session)/tasks", String(repeating: line, count: count),
      [("Content-Type", "application/x-ndjson")])
    var (edges, ports): ([(time: String, change: Int)], Set<Int64>) = ([], [])
    for task in reply.lines {
      let end = try ferry.end(of: task.id)
      #expect(end["error"] == .null && end["body"]?["size"]?.integer == 300_000)
      let transaction = try #require(
        try ferry.metrics(of: task.id)["transactionMetrics"]?.elements?.first)
      edges.append((try #require(transaction["requestStartDate"]?.string), 1))
      edges.append((try #require(transaction["responseEndDate"]?.string), -1))
      ports.insert(try #require(transaction["localPort"]?.integer))
    }
    var (now, most) = (0, 0)
    // At equal times, an end is counted before a begin.
    for edge in edges.sorted(by: { ($0.time, $0.change) < ($1.time, $1.change) }) {
      now += edge.change
      most = max(most, now)
    }
    return (most, ports.count)
  }

  /// Streams of a multiplexed connection do not count as connections.
  @Test func `many requests share a connection`() throws {
    let result = try run(
      30, .good, #"{"httpShouldUsePipelining":true,"httpMaximumConnectionsPerHost":2}"#)
    #expect(result.atOnce > 20 && result.connections == 1, "\(result)")
  }

  @Test func `requests without multiplexing have separate connections`() throws {
    let result = try run(
      6, .good, #"{"httpShouldUsePipelining":false,"httpMaximumConnectionsPerHost":3}"#)
    #expect(result.atOnce == 3 && result.connections == 3, "\(result)")
  }

  /// HTTP/1.1 cannot multiplex, so the connection limit applies.
  @Test func `connection limit applies to HTTP 1`() throws {
    let result = try run(
      6, .plain, #"{"httpShouldUsePipelining":true,"httpMaximumConnectionsPerHost":3}"#)
    #expect(result.atOnce == 3 && result.connections == 3, "\(result)")
  }
}
