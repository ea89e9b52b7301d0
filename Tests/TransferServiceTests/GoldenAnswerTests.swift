import Crypto
import JSON
import Ledger
import Records
import TestSupport
import Testing
import TransferCore
import TransferModel

@testable import TransferService

/// Every later version must read the resume data of clients and the stored answers.
@Suite struct GoldenAnswerTests {
  private static let time = Timestamp(microseconds: 1_800_000_000_123_456)
  private static let keys = [SymmetricKey(data: [UInt8](repeating: 7, count: 32))]

  // MARK: Resume data

  /// One document of each form, by the suffix of its file's name.
  private static var documents: [(String, ResumeData)] {
    var download = TransferRequest(
      url: "https://a.test/ä?y=\"1\"", headers: WorkerSamples.response.headers, timeoutInterval: 2.5)
    download.cachePolicy = .reloadIgnoringLocalCacheData
    download.httpShouldHandleCookies = false
    download.mainDocumentURL = "http://main.test/"
    download.networkAccess.allowsCellularAccess = false
    download.networkServiceType = .video
    download.credential = Credential(user: "älice", password: "p\"w")
    var upload = TransferRequest(url: "http://a.test/", method: "PATCH")
    upload.body = .file(FileID(at: time, random: (5, 7)), size: 1 << 40)
    let point = ResumePoint.upload(
      UploadPoint(resource: "http://a.test/uploads/1", source: WorkerSamples.task))
    return [
      ("download", ResumeData(request: download, point: WorkerSamples.point, tenant: Tenant(name: "t1"))),
      ("upload", ResumeData(request: upload, point: point, tenant: .default)),
    ]
  }

  @Test func `resume data is written and read as in the golden files`() throws {
    for (variant, document) in Self.documents {
      let name = "resume-data/1.\(variant)"
      try GoldenFiles.expect(Document.write(document), is: name)
      #expect(try Document.read(ResumeData.self, try GoldenFiles.bytes(name)) == document, "\(variant)")
    }
    let names = Set(Self.documents.map { "1.\($0.0)" })
    #expect(try GoldenFiles.names(in: "resume-data") == names.union(["1.sealed"]))
  }

  /// Each sealing uses a new nonce, so the texts differ.
  @Test func `old sealed resume data is opened`() throws {
    let sealer = ResumeDataSealer(box: SecretBox(secrets: Self.keys))
    let document = Self.documents[0].1
    let fresh = sealer.seal(document.request, document.point, of: document.tenant)
    let text = try #require(
      try GoldenFiles.lines("resume-data/1.sealed").first,
      "the golden file is missing; a fresh value is \(fresh)")
    let opened = try #require(sealer.open(text, of: document.tenant))
    #expect(opened.request == document.request && opened.point == document.point)
    #expect(fresh != text)
    // The format, and the mark of the key.
    let bytes = try [fresh, text].map { try #require(Base64.decodeForURL($0)) }
    #expect(bytes[0][..<5] == bytes[1][..<5] && bytes[0][0] == 2)
  }

  @Test func `resume data of another version is refused`() throws {
    let text = try GoldenFiles.text("resume-data/1.download")
    let other = text.replacing(#""v":1"#, with: #""v":2"#)
    #expect(other != text)
    #expect(throws: RecordFault.self) { try Document.read(ResumeData.self, Array(other.utf8)) }
  }

  // MARK: Answers to decisions

  /// Answers to each kind of decision.
  private static let answers: [(type: EventType, text: String)] = [
    (.taskWillPerformHTTPRedirection, #"{"request":null}"#),
    (
      .taskWillPerformHTTPRedirection,
      #"{"request":{"url":"http://alice:s3cret@a.test/","headers":{"Authorization":"Bearer s3cret","X":"1"}}}"#
    ),
    (.taskDidReceiveChallenge, #"{"disposition":"performDefaultHandling"}"#),
    (
      .sessionDidReceiveChallenge,
      #"{"disposition":"useCredential","credential":{"user":"älice","password":"s3cret"}}"#
    ),
    (.dataTaskDidReceiveResponse, #"{"disposition":"becomeDownload"}"#),
    (.dataTaskWillCacheResponse, #"{"storagePolicy":"allowed"}"#),
    (.taskWillBeginDelayedRequest, #"{"disposition":"continueLoading"}"#),
    (
      .taskWillBeginDelayedRequest,
      #"{"disposition":"useNewRequest","request":{"url":"http://a.test/"}}"#
    ),
  ]

  /// All decisions that have a stored answer. A body is not stored as an answer.
  private static let questions = Set(EventType.allCases).filter { type in
    let violations = Violations()
    let answer = DecisionAnswer(.object([]), to: .init(type: type), violations)
    return type != .taskNeedNewBodyStream && (answer != nil || !violations.isEmpty)
  }

  @Test func `answers are stored as in the golden file`() throws {
    let tagger = AnswerDigester(secrets: Self.keys)
    var lines: [String] = []
    for (type, text) in Self.answers {
      let value = try JSONParser.parse(Array(text.utf8))
      let violations = Violations()
      var shown = DecisionAnswer.DecisionContext(type: type)
      shown.method = .httpBasic
      let answer = try #require(DecisionAnswer(value, to: shown, violations), "\(violations.all)")
      let stored = answer.stored(value)
      #expect(!String(decoding: stored, as: UTF8.self).contains("s3cret"))
      // The tag identifies the same answer later.
      let tag = Base64.encode(try #require(tagger.tags(value.json).first))
      lines.append("\(type.rawValue) \(String(decoding: stored, as: UTF8.self)) \(tag)")
    }
    try GoldenFiles.expect(lines.map { $0 + "\n" }.joined(), is: "answers/1")
    #expect(try GoldenFiles.names(in: "answers") == ["1"])
    #expect(Set(Self.answers.map(\.type)) == Self.questions, "every type of decision has a golden answer")
  }
}
