import HTTPCache
import HTTPFields
import Limits
import TestSupport
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct RangeAssemblyTests {
  private static let kept = PartialBody(offset: 40, total: 104, validator: "\"v1\"")
  private static let unknown = PartialBody(offset: 40, total: -1, validator: "\"v1\"")
  private static let dated = PartialBody(offset: 40, total: 104, validator: date)
  private static let date = "Sat, 21 Nov 2026 07:00:00 GMT"

  private static func head(
    _ status: Int, _ range: String? = nil, _ fields: [(String, String)] = [("ETag", "\"v1\"")]
  )
    -> ResponseHead
  {
    ResponseHead(
      httpVersion: "HTTP/1.1", status: status,
      headers: HTTPHeaders(
        (range.map { [("Content-Range", $0)] } ?? [] + fields).map { .init(name: $0.0, value: $0.1) }
          + (range == nil ? [] : fields.map { .init(name: $0.0, value: $0.1) })))
  }

  private static let multipart = [("ETag", "\"v1\""), ("Content-Type", "Multipart/ByteRanges; boundary=x")]

  @Test(
    arguments: [
      (kept, head(206, "bytes 40-103/104"), .append(at: 40)),
      (kept, head(206, "bytes 40-59/*"), .append(at: 40)),
      (kept, head(206, "bytes 40-59/104"), .append(at: 40)),
      (unknown, head(206, "bytes 40-59/60"), .append(at: 40)),
      (unknown, head(206, "bytes 40-59/*"), .append(at: 40)),
      // The response to If-Range need not repeat the validator.
      (kept, head(206, "bytes 40-103/104", []), .append(at: 40)),
      (dated, head(206, "bytes 40-103/104", []), .append(at: 40)),
      (dated, head(206, "bytes 40-103/104", [("Last-Modified", date)]), .append(at: 40)),
      // The total has changed.
      (kept, head(206, "bytes 40-113/114"), .startAgain), (kept, head(206, "bytes 40-59/60"), .startAgain),
      (kept, head(206, "bytes 40-104/*"), .startAgain),
      // Another offset, or none.
      (kept, head(206, "bytes 39-103/104"), .startAgain), (kept, head(206, "bytes 0-103/104"), .startAgain),
      (kept, head(206), .startAgain), (kept, head(206, "items 40-103/104"), .startAgain),
      (
        kept, head(206, "bytes 40-103/104", [("Content-Range", "bytes 40-59/104"), ("ETag", "\"v1\"")]),
        .startAgain
      ),
      // Another version.
      (kept, head(206, "bytes 40-103/104", [("ETag", "\"v2\"")]), .startAgain),
      (kept, head(206, "bytes 40-103/104", [("ETag", "W/\"v1\"")]), .startAgain),
      (kept, head(206, "bytes 40-103/104", [("ETag", "\"v1\""), ("ETag", "\"v2\"")]), .startAgain),
      (dated, head(206, "bytes 40-103/104", [("ETag", "W/\"b\""), ("Last-Modified", date)]), .startAgain),
      (
        dated, head(206, "bytes 40-103/104", [("Last-Modified", "Sun, 22 Nov 2026 07:00:00 GMT")]),
        .startAgain
      ),
      (kept, head(206, "bytes 40-103/104", [("ETag", "\"v1\""), ("Content-Encoding", "gzip")]), .startAgain),
      // A response with several ranges must not have the field of one.
      (kept, head(206, "bytes 40-103/104", multipart), .startAgain),
      // The whole body, or a response that resembles it.
      (kept, head(200), .deliver), (kept, head(200, "bytes 0-103/104"), .deliver),
      (kept, head(200, "bytes 40-103/104"), .startAgain), (kept, head(200, "bytes */104"), .startAgain),
      (kept, head(200, "bytes 0-39/104"), .startAgain), (kept, head(200, "bytes 0-103/*"), .deliver),
      (kept, head(203, "bytes 40-103/104"), .startAgain), (kept, head(416, "bytes */104"), .startAgain),
      (kept, head(404), .deliver), (kept, head(503), .deliver), (kept, head(204), .deliver),
    ] as [(PartialBody, ResponseHead, RangeAssembly.HeadAction)])
  func firstHeadDecides(_ kept: PartialBody, _ head: ResponseHead, _ expected: RangeAssembly.HeadAction) {
    var ranges = RangeAssembly(kept)
    #expect(ranges.handle(head, from: "http://a/b") == expected)
    if case .append = expected {
      #expect(ranges.open?.validator == kept.validator)
    } else {
      #expect(ranges.kept == nil)
    }
  }

  /// A redirect may lead to another resource, for which the validator does not count.
  @Test(
    arguments: [
      (nil, .append(at: 40)), ("http://a/b", .append(at: 40)), ("http://a/c", .startAgain),
      ("http://b/b", .startAgain),
    ] as [(String?, RangeAssembly.HeadAction)])
  func `only bytes of one resource are joined`(_ resource: String?, _ expected: RangeAssembly.HeadAction) {
    let kept = PartialBody(offset: 40, total: 104, validator: "\"v1\"", resource: resource)
    var ranges = RangeAssembly(kept)
    #expect(ranges.handle(Self.head(206, "bytes 40-103/104"), from: "http://a/b") == expected)
  }

  @Test(arguments: [200, 206, 404]) func downloadFromItsStartIsDelivered(_ status: Int) {
    var ranges = RangeAssembly(nil)
    #expect(ranges.handle(Self.head(status, "bytes 40-103/104"), from: "http://a/b") == .deliver)
    #expect(ranges.append(1000) == .taken && ranges.end() == .whole && ranges.open?.validator == nil)
  }

  @Test func `short range leads to a request for the rest`() {
    var ranges = RangeAssembly(Self.kept)
    #expect(ranges.handle(Self.head(206, "bytes 40-59/*"), from: "http://a/b") == .append(at: 40))
    #expect(ranges.append(20) == .taken && ranges.end() == .next && ranges.offset == 60 && ranges.isOpen)
    #expect(ranges.handle(Self.head(206, "bytes 60-103/104"), from: "http://a/b") == .append(at: 60))
    #expect(ranges.append(30) == .taken && ranges.end() == .next && ranges.offset == 90)
    #expect(ranges.handle(Self.head(206, "bytes 90-103/104"), from: "http://a/b") == .append(at: 90))
    #expect(ranges.append(14) == .taken && ranges.end() == .whole && !ranges.isOpen)
  }

  @Test func overlongRangeStartsAgainOnce() {
    var ranges = RangeAssembly(Self.kept)
    #expect(ranges.handle(Self.head(206, "bytes 40-103/104"), from: "http://a/b") == .append(at: 40))
    #expect(ranges.append(64) == .taken && ranges.append(1) == .startAgain && ranges.offset == nil)
    // A 206 is no response to a request for the whole body.
    var other = ranges
    #expect(other.handle(Self.head(206, "bytes 0-103/104"), from: "http://a/b") == .fail)
    #expect(ranges.handle(Self.head(206, "bytes 40-103/104"), from: "http://a/b") == .fail && ranges.isBroken)
  }

  @Test func `unsatisfied range at the kept length means a whole body`() {
    var ranges = RangeAssembly(Self.unknown)
    #expect(ranges.handle(Self.head(206, "bytes 40-59/*"), from: "http://a/b") == .append(at: 40))
    #expect(ranges.append(20) == .taken && ranges.end() == .next)
    var (changed, silent) = (ranges, ranges)
    #expect(
      ranges.handle(Self.head(416, "bytes */60"), from: "http://a/b") == .complete && ranges.end() == .whole)
    #expect(changed.handle(Self.head(416, "bytes */61"), from: "http://a/b") == .startAgain)
    #expect(silent.handle(Self.head(416), from: "http://a/b") == .startAgain)
  }

  @Test(arguments: [401, 404, 500, 503]) func `response other than a range ends the assembly`(_ status: Int) {
    var ranges = RangeAssembly(Self.kept)
    _ = ranges.handle(Self.head(206, "bytes 40-59/*"), from: "http://a/b")
    #expect(ranges.append(20) == .taken && ranges.end() == .next)
    #expect(ranges.handle(Self.head(status), from: "http://a/b") == .stop)
    #expect(ranges.open?.validator == "\"v1\"" && ranges.offset == 60)
  }

  @Test func `number of further ranges is limited`() {
    var ranges = RangeAssembly(PartialBody(offset: 1, total: 5000, validator: "\"v1\""))
    var count = 0
    while true {
      let offset = ranges.offset ?? -1
      #expect(
        ranges.handle(Self.head(206, "bytes \(offset)-4999/5000"), from: "http://a/b") == .append(at: offset))
      #expect(ranges.append(1) == .taken)
      guard ranges.end() == .next else { break }
      count += 1
    }
    #expect(count == Limits.ranges.value && ranges.offset == 1002 && ranges.open?.validator != nil)
  }

  @Test func `empty range is not requested again`() {
    var ranges = RangeAssembly(Self.kept)
    _ = ranges.handle(Self.head(206, "bytes 40-103/104"), from: "http://a/b")
    #expect(ranges.end() == .short && ranges.offset == 40)
  }

  /// An origin with random fields: each body that is called whole is one version, byte for byte, or was delivered as received.
  @Test(arguments: 1...20 as ClosedRange<UInt64>) func `lying origin never mixes versions`(_ seed: UInt64) {
    var generator = SplitMix64(seed: seed)
    for _ in 0..<500 {
      var ranges = RangeAssembly(Bool.random(using: &generator) ? Self.kept : Self.unknown)
      /// The version of each kept byte.
      var body = [Int](repeating: 1, count: 40)
      var requests = 0
      attempt: while true {
        requests += 1
        #expect(requests <= Limits.ranges.value + 2)
        let version = Int.random(in: 1...2, using: &generator)
        let first = ([ranges.offset ?? 0, 0, 39] as [Int64]).randomElement(using: &generator) ?? 0
        let last = first + Int64.random(in: 0...70, using: &generator)
        let total = ["104", "*", "60"].randomElement(using: &generator) ?? "*"
        let status = [200, 206, 206, 206, 416, 404].randomElement(using: &generator) ?? 206
        let head = Self.head(status, "bytes \(first)-\(last)/\(total)", [("ETag", "\"v\(version)\"")])
        let count =
          Bool.random(using: &generator) ? Int(last - first + 1) : Int.random(in: 0...80, using: &generator)
        switch ranges.handle(head, from: "http://a/b") {
        case .deliver, .stop, .fail, .complete: break attempt
        case .startAgain:
          body = []
          continue
        case .append(let offset):
          #expect(status == 206 && version == 1 && first == offset && Int(offset) == body.count)
          guard ranges.append(count) == .taken else {
            if ranges.isBroken { break attempt }
            body = []
            continue
          }
          body += [Int](repeating: version, count: count)
          switch ranges.end() {
          case .whole:
            #expect(body.allSatisfy { $0 == 1 } && Int64(body.count) == ranges.total)
            break attempt
          case .short: break attempt
          case .next: #expect(ranges.offset == Int64(body.count))
          }
        }
      }
    }
  }
}
