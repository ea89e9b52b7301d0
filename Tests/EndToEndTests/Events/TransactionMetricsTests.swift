import Foundation
import JSON
import TestSupport
import Testing

/// `URLSessionTaskMetrics`, which swift-corelibs-foundation never delivers (#4988): one transaction for each request of
/// a task.
@Suite(.serialized, .blocking, .sharing) struct TransactionMetricsTests {
  private let ferry: FerryProcess
  /// 500 times `x`, compressed.
  private static let gzip = Array(Data(base64Encoded: "H4sIAAAAAAACA6uoGAUjDQAAUc6yCvQBAAA=") ?? Data())
  private let origin = TestOrigin { request, socket in
    switch request.path {
    case "/first": try socket.write(TestOrigin.reply("303 See Other", [], [("Location", "/second")]))
    case "/second":
      try socket.write(TestOrigin.reply("302 Found", Array("moved".utf8), [("Location", "/third")]))
    case "/third": try socket.write(TestOrigin.reply("200 OK", Self.gzip, [("Content-Encoding", "gzip")]))
    case "/cut": try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789")
    default: try socket.write(TestOrigin.reply("200 OK", Array("ok".utf8)))
    }
    return request.path != "/cut"
  }
  private static let dates = [
    "fetchStartDate", "domainLookupStartDate", "domainLookupEndDate", "connectStartDate",
    "secureConnectionStartDate", "secureConnectionEndDate", "connectEndDate", "requestStartDate",
    "requestEndDate", "responseStartDate", "responseEndDate",
  ]
  private static let connectionDates = Set(dates[1...6])

  init() throws { ferry = try .ofSuite() }

  private func transactions(of id: String) throws -> [JSONValue] {
    let metrics = try ferry.metrics(of: id)
    let transactions = try #require(metrics["transactionMetrics"]?.elements)
    #expect(metrics["redirectCount"]?.integer == Int64(transactions.count - 1))
    let interval = try #require(metrics["taskInterval"])
    // All times have one format, so the order of texts is the order of times.
    let all =
      [interval["start"]] + transactions.flatMap { metrics in Self.dates.map { metrics[$0] } }
      + [interval["end"]]
    let texts = all.compactMap { $0?.string }
    #expect(texts == texts.sorted(), "\(texts)")
    return transactions
  }

  private func dates(_ transaction: JSONValue) -> Set<String> {
    Set(Self.dates.filter { transaction[$0]?.string != nil })
  }

  @Test func `each request has its transaction`() throws {
    let id = try ferry.run(
      origin.url + "/first", kind: "data", session: ferry.session(),
      request: #","method":"POST","body":{"text":"hello"}"#
    ).id
    let all = try transactions(of: id)
    #expect(
      all.map { $0["request"]?["url"]?.string } == ["/first", "/second", "/third"].map { origin.url + $0 })
    #expect(all.map { $0["request"]?["method"]?.string } == ["POST", "GET", "GET"])
    #expect(all.map { $0["response"]?["status"]?.integer } == [303, 302, 200])
    #expect(all.map { $0["isReusedConnection"]?.bool } == [false, true, true])
    #expect(all.map { $0["countOfRequestBodyBytesSent"]?.integer } == [5, 0, 0])
    #expect(all.map { $0["countOfRequestBodyBytesBeforeEncoding"]?.integer } == [5, 0, 0])
    #expect(
      all.map { $0["countOfResponseBodyBytesReceived"]?.integer } == [0, 5, Int64(Self.gzip.count)])
    #expect(all.last?["countOfResponseBodyBytesAfterDecoding"]?.integer == 500)
    #expect(try ferry.body(of: id) == [UInt8](repeating: UInt8(ascii: "x"), count: 500))
    for (index, transaction) in all.enumerated() {
      let secure: Set = ["secureConnectionStartDate", "secureConnectionEndDate"]
      let missing = index == 0 ? secure : Self.connectionDates
      #expect(dates(transaction) == Set(Self.dates).subtracting(missing), "\(index)")
      #expect(transaction["networkProtocolName"]?.string == "http/1.1")
      #expect(transaction["resourceFetchType"]?.string == "networkLoad")
      for name in ["isProxyConnection", "isCellular", "isExpensive", "isConstrained", "isMultipath"] {
        #expect(transaction[name]?.bool == false, "\(name)")
      }
      #expect(
        transaction["negotiatedTLSProtocolVersion"] == nil && transaction["negotiatedTLSCipherSuite"] == nil)
      #expect(transaction["domainResolutionProtocol"]?.string == "unknown")
      #expect(transaction["remoteAddress"]?.string == "127.0.0.1")
      #expect(transaction["remotePort"]?.integer == Int64(origin.port))
      #expect(transaction["countOfRequestHeaderBytesSent"]?.integer ?? 0 > 30)
      #expect(transaction["countOfResponseHeaderBytesReceived"]?.integer ?? 0 > 30)
    }
    // All requests use one connection.
    #expect(Set(all.map { $0["localPort"]?.integer }).count == 1)
  }

  /// The metrics event comes just before the end.
  @Test func `event contains the metrics`() throws {
    let id = try ferry.run(origin.url + "/ok").id
    let story = try ferry.story(of: id)
    let event = try #require(story.dropLast().last)
    #expect(event.type == "task.didFinishCollectingMetrics")
    let metrics = try ferry.metrics(of: id)
    #expect(event.data["metrics"] == metrics || event.data == metrics)
  }

  @Test func `task without a redirect has one transaction`() throws {
    let all = try transactions(of: ferry.run(origin.url + "/ok").id)
    #expect(all.count == 1 && all.first?["response"]?["status"]?.integer == 200)
  }

  @Test func `failed connect has no end date`() throws {
    // The port was bound, but has no listener.
    let port = try Self.closedPort()
    let task = try ferry.run("http://127.0.0.1:\(port)/", kind: "data")
    #expect(task.errorCode == -1004)
    let all = try transactions(of: task.id)
    #expect(all.count == 1 && all.first?["response"] == .null)
    let dates = dates(try #require(all.first))
    #expect(dates.contains("fetchStartDate"))
    #expect(dates.isDisjoint(with: Self.dates[4...]), "\(dates)")
    #expect(all.first?["isReusedConnection"]?.bool == false)
  }

  private static func closedPort() throws -> Int {
    let origin = TestOrigin { _, _ in false }
    defer { withExtendedLifetime(origin) {} }
    let socket = try Socket(connectingTo: origin.port)
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket.descriptor, $0, &length) }
    }
    return Int(in_port_t(bigEndian: address.sin_port))
  }

  /// If a phase fails, its end date and all later dates are absent.
  @Test func `failed handshake has no end date`() throws {
    let nginx = try NginxServer()
    let task = try ferry.run(nginx.url(.expired, "/hello.txt"), kind: "data")
    #expect(task.errorCode.map { (-1206 ... -1200).contains($0) } == true)
    let first = try #require(try transactions(of: task.id).first)
    let dates = dates(first)
    #expect(dates.contains("connectStartDate"))
    #expect(dates.isDisjoint(with: Self.dates[5...]), "\(dates)")
    #expect(first["response"] == .null)
  }

  @Test func `incomplete response has no end date`() throws {
    let task = try ferry.run(origin.url + "/cut", kind: "data")
    #expect(task.errorCode == -1005)
    let first = try #require(try transactions(of: task.id).first)
    #expect(dates(first).contains("responseStartDate") && !dates(first).contains("responseEndDate"))
    #expect(first["countOfResponseBodyBytesReceived"]?.integer == 10)
  }

  @Test func `task that never ran has no transaction`() throws {
    let id = try ferry.create(origin.url + "/ok", resume: false)
    _ = try ferry.act("cancel", id)
    _ = try ferry.end(of: id)
    #expect(try ferry.metrics(of: id)["transactionMetrics"]?.elements?.isEmpty == true)
    #expect(try ferry.metrics(of: id)["redirectCount"]?.integer == 0)
  }
}
