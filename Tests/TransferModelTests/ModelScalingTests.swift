import HTTPFields
import JSON
import TestSupport
import Testing

@testable import TransferModel

@Suite(.serialized, .blocking) struct ModelScalingTests {
  static let headers: [@Sendable (Int) -> HTTPHeaders] = [
    { HTTPHeaders((0..<$0).map { .init(name: "X-Field-\($0)", value: "v\($0)") }) },
    { HTTPHeaders((0..<$0).map { .init(name: $0.isMultiple(of: 2) ? "X-A" : "x-a", value: "v") }) },
    { HTTPHeaders((0..<$0).map { .init(name: "X-\($0 / 2)", value: "v") }) },
  ]

  @Test(arguments: headers.indices) func `time for header fields is linear`(_ index: Int) {
    let make = Self.headers[index]
    let ratio = Scaling.ratio(of: make) { headers in
      let json = headers.json
      _ = HTTPHeaders(json: try? JSONParser.parse(json))
      _ = headers.merging(defaults: headers)
      _ = headers.joined
      _ = headers.redacted
      _ = headers["X-A"]
    }
    #expect(ratio < Scaling.limit)
  }

  @Test func `time for header fields of clients is linear`() throws {
    let ratio = try Scaling.ratio(of: Self.headers[0]) { headers in
      _ = HTTPHeaders(validating: try JSONParser.parse(headers.json), at: "/h", Violations())
    }
    #expect(ratio < Scaling.limit)
  }

  @Test(arguments: ["a.test:#", "*:#", "10.0.0.1:#", "h#.test", "10.#.0.0/16"])
  func `time for proxy exceptions is linear`(_ text: String) {
    let ratio = Scaling.ratio(of: { count in
      (1...count).map { text.replacing("#", with: "\($0)") }
    }) { texts in
      _ = ProxyExceptions(texts.compactMap { ProxyException($0) }).cover(host: "b.test", port: 1)
    }
    #expect(ratio < Scaling.limit)
  }

  @Test func `time for responses is linear`() {
    let ratio = Scaling.ratio(of: { (count: Int) -> TransferResponse in
      var headers = Self.headers[0](count)
      headers.append(
        "Content-Disposition", "attachment; filename=\"\(String(repeating: "a\\\"/", count: count))\"")
      headers.append("Content-Type", "text/html" + String(repeating: "; a=\"b;c\"", count: count))
      return TransferResponse(
        url: "http://a/", status: 200, headers: headers, expectedContentLength: -1, httpVersion: "HTTP/1.1")
    }) { _ = $0.json }
    #expect(ratio < Scaling.limit)
  }

  @Test(arguments: ["a", "%41", "é", "\u{1F1E9}\u{1F1EA}", "e\u{301}\u{301}", "/a", "../"])
  func `time for file names is linear`(_ piece: String) {
    let ratio = Scaling.ratio(of: { String(repeating: piece, count: $0) }) { text in
      _ = PercentEncoding.encode(text)
      _ = PercentEncoding.decode(text)
      _ = text.trimmingBlanks
      for field in ["a; filename*=utf-8''\(text)", "a; filename=\"\(text)\"", text] {
        _ = HTTPParameters.value("filename", in: field)
        _ = HTTPParameters.extendedValue("filename", in: field)
      }
      _ =
        TransferResponse(
          url: "http://a/" + text, status: 200, headers: HTTPHeaders(), expectedContentLength: -1,
          httpVersion: "HTTP/1.1"
        ).suggestedFilename
    }
    #expect(ratio < Scaling.limit)
  }

  @Test func `time for base64 is linear`() {
    let ratio = Scaling.ratio(of: { [UInt8](repeating: 0xFB, count: $0) }) { bytes in
      let text = Base64.encode(bytes)
      _ = Base64.decode(text)
      _ = Base64.decodeForURL(Base64.encodeForURL(bytes))
      _ = Base64.decode(String(repeating: "=", count: text.utf8.count))
    }
    #expect(ratio < Scaling.limit)
  }

  @Test(arguments: ["id: 7\nevent: task.didCreate\ndata: {}\n\n", "x", "\n", "id: 7\n"])
  func `time for stored events is linear`(_ piece: String) {
    let ratio = Scaling.ratio(of: { Array(String(repeating: piece, count: $0).utf8) }) { stream in
      _ = ServerSentEvents.split(stream)
      _ = ServerSentEvents.filter(stream, after: 3, types: [.taskDidCreate])
      _ = ServerSentEvents.time(of: stream)
    }
    #expect(ratio < Scaling.limit)
  }

  @Test func `time for comparing sessions is linear`() {
    let ratio = Scaling.ratio(of: { (count: Int) -> TransferSession in
      var configuration = SessionConfiguration()
      configuration.httpAdditionalHeaders = Self.headers[0](count)
      return TransferSession(
        id: .shared, createdAt: Timestamp(microseconds: 0), description: nil, configuration: configuration,
        delegate: nil)
    }) { _ = $0.differences(to: $0) }
    #expect(ratio < Scaling.limit)
  }
}
