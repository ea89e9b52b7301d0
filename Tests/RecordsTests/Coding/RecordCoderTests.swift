import JSON
import Testing

@testable import Records

/// A record with a member of each kind.
private struct Sample: Record, Equatable {
  enum Choice: String, RecordValue { case one, two }
  struct Inner: MutableRecord, Equatable {
    var flag = true
    var note: String?
    mutating func members(_ coder: inout RecordCoder) throws(RecordFault) {
      try coder.field("flag", &flag)
      try coder.field("note", &note)
    }
  }

  var name: String
  var choice: Choice?
  var count = 0
  var ratio = 0.5
  var bytes: [UInt8]?
  var inner: [Inner] = []

  static func members(_ coder: inout RecordCoder, _ value: Self?) throws(RecordFault) -> Self {
    Sample(
      name: try coder.required("name", value?.name), choice: try coder.optional("choice", value?.choice),
      count: try coder.member("count", value?.count, else: 0),
      ratio: try coder.member("ratio", value?.ratio, else: 0.5),
      bytes: try coder.bytes("bytes", value?.bytes),
      inner: try coder.member("inner", value?.inner, else: []))
  }
}

private enum Shape: RecordCases, Equatable {
  case empty
  case one(String)
  case two(Int, String?)
  static let cases: [RecordCase<Self>] = [
    RecordCase("empty", .empty) { if case .empty = $0 { true } else { false } },
    RecordCase("one", Self.one) { if case .one(let text) = $0 { text } else { nil } },
    RecordCase("two", Self.two) { if case .two(let a, let b) = $0 { (a, b) } else { nil } },
  ]
}

@Suite struct RecordCoderTests {
  private func text(_ value: some Record) -> String { String(decoding: Document.write(value), as: UTF8.self) }
  private func text(_ value: some RecordCases) -> String {
    String(decoding: Document.write(value), as: UTF8.self)
  }
  private func read(_ text: String) throws(RecordFault) -> Sample {
    try Document.read(Sample.self, Array(text.utf8))
  }

  @Test func `default values are not written`() throws {
    #expect(text(Sample(name: "a")) == #"{"v":1,"name":"a"}"#)
    #expect(try read(#"{"v":1,"name":"a"}"#) == Sample(name: "a"))
    #expect(try read(#"{"name":"a","v":1,"choice":null,"inner":null}"#) == Sample(name: "a"))
  }

  @Test func `each member is written and read`() throws {
    let sample = Sample(
      name: "ä\"", choice: .two, count: .min, ratio: 0.1, bytes: [],
      inner: [.init(flag: false, note: ""), .init()])
    #expect(
      text(sample)
        == #"{"v":1,"name":"ä\"","choice":"two","count":-9223372036854775808,"ratio":0.1,"bytes":"","inner":[{"flag":false,"note":""},{"flag":true}]}"#
    )
    #expect(try read(text(sample)) == sample)
  }

  @Test(
    arguments: [
      ("", "", "is not JSON: unexpected end, at byte 0"),
      ("[]", "/v", "is missing: this program knows version 1"),
      (#"{"v":2,"name":"a"}"#, "/v", "is 2: this program knows version 1"),
      (#"{"v":"1"}"#, "/v", "is a string: this program knows version 1"),
      (#"{"v":1}"#, "/name", "is missing"), (#"{"v":1,"name":null}"#, "/name", "is missing"),
      (#"{"v":1,"name":7}"#, "/name", "must be a string, not a number"),
      (#"{"v":1,"name":"a","choice":"secret"}"#, "/choice", "is not a known value"),
      (#"{"v":1,"name":"a","count":1.5}"#, "/count", "must be an integer, not a number"),
      (#"{"v":1,"name":"a","bytes":"?"}"#, "/bytes", "is not base64"),
      (
        #"{"v":1,"name":"a","inner":[{"flag":true},{"flag":1}]}"#, "/inner/1/flag",
        "must be a boolean, not a number"
      ),
      (#"{"v":1,"name":"a","inner":[{"a/b":1}]}"#, "/inner/0/a~1b", "is not known"),
      (#"{"v":1,"name":"a","inner":{}}"#, "/inner", "must be an array, not an object"),
      (#"{"v":1,"name":"a","inner":[1]}"#, "/inner/0", "must be an object, not a number"),
      (#"{"v":1,"name":"a","new":null}"#, "/new", "is not known"),
    ])
  func `fault names place and reason`(_ document: String, _ pointer: String, _ reason: String) throws {
    let fault = try #require(throws: RecordFault.self) { try read(document) }
    #expect(fault.pointer == pointer)
    #expect(document.isEmpty ? fault.reason.hasPrefix("is not JSON") : fault.reason == reason)
  }

  // MARK: Cases

  @Test(arguments: [Shape.empty, .one(""), .two(-1, nil), .two(1, "a")])
  fileprivate func `case is read as it was written`(_ shape: Shape) throws {
    #expect(try Document.read(Shape.self, Document.write(shape)) == shape)
  }

  @Test func `case is written as a member with its values`() {
    #expect(text(Shape.empty) == #"{"v":1,"empty":[]}"#)
    #expect(text(Shape.two(3, nil)) == #"{"v":1,"two":[3,null]}"#)
  }

  @Test(
    arguments: [
      (#"{"v":1}"#, "", "must have one member, not 0"),
      (#"{"v":1,"one":["a"],"empty":[]}"#, "", "must have one member, not 2"),
      (#"{"v":1,"three":[]}"#, "/three", "is not known"),
      (#"{"v":1,"one":"a"}"#, "/one", "must be an array, not a string"),
      (#"{"v":1,"one":[]}"#, "/one/0", "is missing"),
      (#"{"v":1,"one":["a","b"]}"#, "/one/1", "is not known"),
      (#"{"v":1,"two":[1,2]}"#, "/two/1", "must be a string, not a number"),
      (#"{"v":2,"empty":[]}"#, "/v", "is 2: this program knows version 1"),
    ])
  func `case fault names place and reason`(_ document: String, _ pointer: String, _ reason: String) throws {
    #expect(throws: RecordFault(pointer: pointer, reason)) {
      try Document.read(Shape.self, Array(document.utf8))
    }
  }

  @Test func `subject of a case is its first value`() {
    func subject(_ document: String) -> Int? { Document.subject(of: Array(document.utf8)) { Int($0) } }
    #expect(subject(#"{"v":9,"unheardOf":["1",{"a":1}]}"#) == 1)
    // A later version may have other members in addition to the case.
    #expect(subject(#"{"v":9,"tags":["x"],"unheardOf":["1"]}"#) == 1)
    #expect(subject(#"{"v":1,"empty":[]}"#) == nil && subject("{") == nil)
  }
}
