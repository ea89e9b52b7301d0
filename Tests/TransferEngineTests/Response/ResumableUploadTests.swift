import EngineAPI
import HTTPFields
import TestSupport
import Testing
import TransferModel

@testable import Curl
@testable import TransferEngine

/// The protocol of draft-ietf-httpbis-resumable-upload, without a connection.
@Suite struct ResumableUploadTests {
  private static let task = TaskID(high: 1, low: 1)
  private static let url = "https://a.test/files"
  private static let bytes = [UInt8]("0123456789".utf8)

  private static func job(
    _ kind: TaskKind = .upload, method: String = "POST", body: RequestContent? = .data(bytes),
    headers: [(String, String)] = [], resuming source: TaskID? = nil
  ) -> TransferJob {
    let fields = headers.map { HTTPHeaders.Field(name: $0.0, value: $0.1) }
    let request = TransferRequest(url: url, method: method, headers: HTTPHeaders(fields), body: body)
    var job = TransferJob(
      task: task, session: .shared, configuration: SessionConfiguration(), kind: kind, request: request,
      priority: 0.5)
    if let source { job.resumePoint = .upload(UploadPoint(resource: "https://a.test/r", source: source)) }
    return job
  }

  private static func head(_ status: Int, _ fields: [String: String] = [:]) -> ResponseHead {
    var headers = HTTPHeaders()
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) { headers.append(name, value) }
    return ResponseHead(httpVersion: "HTTP/1.1", status: status, headers: headers)
  }

  private static func offer(_ location: String?, version: String? = "8", status: Int = 104) -> ResponseHead {
    var fields: [String: String] = [:]
    fields["Location"] = location
    fields["Upload-Draft-Interop-Version"] = version
    return head(status, fields)
  }

  // MARK: Eligible uploads

  @Test func `only uploads with a repeatable body can be resumed`() {
    #expect(ResumableUpload(Self.job()) != nil)
    #expect(ResumableUpload(Self.job(body: .file(FileID(high: 1, low: 1), size: 5))) != nil)
    #expect(ResumableUpload(Self.job(.data)) == nil && ResumableUpload(Self.job(.download)) == nil)
    #expect(ResumableUpload(Self.job(body: .stream)) == nil && ResumableUpload(Self.job(body: nil)) == nil)
    #expect(ResumableUpload(Self.job(body: .data([]))) == nil)
    // The client itself uses the protocol, or tus.
    for name in ["Upload-Complete", "upload-length", "Upload-Offset"] {
      #expect(ResumableUpload(Self.job(headers: [(name, "1")])) == nil)
    }
  }

  // MARK: Offers of the server

  @Test(
    arguments: [
      (offer("/r"), "https://a.test/r"), (offer("r?x=1"), "https://a.test/r?x=1"),
      (offer("https://b.test/r"), "https://b.test/r"), (offer("http://a.test/r"), nil),
      (offer("ftp://a.test/r"), nil), (offer("https://u:p@a.test/r"), nil), (offer(nil), nil),
      (offer("/r", version: nil), nil), (offer("/r", version: "7"), nil),
      (offer("/r", version: " 8 "), "https://a.test/r"),
      (offer("/r", status: 103), nil),
    ] as [(ResponseHead, String?)])
  func `valid upload resource is used`(_ head: ResponseHead, _ resource: String?) throws {
    var upload = try #require(ResumableUpload(Self.job()))
    #expect(upload.handleInformational(informational: head, at: try CurlURL(Self.url)) == (resource != nil))
    #expect(upload.point?.resource == resource)
    #expect(upload.point == nil || upload.point?.source == Self.task)
    // The first offer counts, and a redirect to another origin discards it.
    #expect(
      !upload.handleInformational(informational: Self.offer("/other"), at: try CurlURL(Self.url))
        == (resource != nil))
    var redirected = upload.request
    redirected.url = "https://c.test/"
    upload.willSend(redirected)
    #expect(upload.point == nil && upload.request.url == "https://c.test/")
  }

  // MARK: Requests

  @Test func `request to the upload resource omits fields about the content`() throws {
    let headers = [
      ("Authorization", "Bearer x"), ("X-Own", "1"), ("Content-Type", "a/b"), ("Content-Encoding", "gzip"),
      ("If-Match", "\"1\""), ("Expect", "100-continue"), ("Repr-Digest", "x"), ("Cookie", "a=b"),
    ]
    var job = Self.job(headers: headers, resuming: Self.task)
    #expect(ResumableUpload(job)?.first.headers.fields.map(\.name) == ["Authorization", "X-Own", "Cookie"])
    #expect(ResumableUpload(job)?.first.method == "HEAD" && ResumableUpload(job)?.first.body == nil)
    // Another origin does not receive the credentials.
    job.resumePoint = .upload(UploadPoint(resource: "https://b.test/r", source: Self.task))
    job.request.credential = Credential(user: "u", password: "p")
    let first = try #require(ResumableUpload(job)?.first)
    #expect(first.headers.fields.map(\.name) == ["X-Own"] && first.credential == nil)
    #expect(first.url == "https://b.test/r")
  }

  @Test(
    arguments: [
      (204, ["Upload-Offset": "4"], 4), (200, ["Upload-Offset": "0", "Upload-Complete": "?0"], 0),
      (204, ["Upload-Offset": "10"], 10), (204, ["Upload-Offset": "11"], nil),
      (204, ["Upload-Offset": "-1"], nil),
      (204, ["Upload-Offset": "4.0"], nil), (204, ["Upload-Offset": "9999999999999999999"], nil),
      (204, [:], nil),
      (404, ["Upload-Offset": "4"], nil), (410, [:], nil), (503, [:], nil), (429, [:], nil),
    ] as [(Int, [String: String], Int?)])
  func `upload continues from the offset`(_ status: Int, _ fields: [String: String], _ offset: Int?) throws {
    var upload = try #require(ResumableUpload(Self.job(resuming: TaskID(high: 9, low: 9))))
    let nextStep = upload.nextStep(on: Self.head(status, fields))
    guard let offset else {
      guard case .failed(let error) = nextStep else { Issue.record("\(nextStep)"); return }
      #expect(error.reason == .url(.badServerResponse))
      // After a temporary failure the upload resource stays known.
      #expect((upload.point != nil) == [429, 503].contains(status))
      return
    }
    guard case .send(let request) = nextStep else { Issue.record("\(nextStep)"); return }
    #expect(request.method == "PATCH" && request.url == "https://a.test/r")
    #expect(request.body == .data(Array(Self.bytes[offset...])))
    #expect(request.headers["Content-Type"] == "application/partial-upload")
    #expect(upload.fields.first { $0.name == "Upload-Offset" }?.value == "\(offset)")
    #expect(upload.request.method == "POST")
  }

  @Test func `complete upload ends with the response`() throws {
    var upload = try #require(ResumableUpload(Self.job(resuming: Self.task)))
    #expect(upload.nextStep(on: Self.head(204, ["Upload-Offset": "10", "Upload-Complete": "?1"])) == .result)
    for (status, fields) in [(201, [:]), (500, ["Upload-Complete": "?1"]), (400, [:]), (500, [:])] {
      var upload = try #require(ResumableUpload(Self.job(resuming: Self.task)))
      _ = upload.nextStep(on: Self.head(204, ["Upload-Offset": "4"]))
      #expect(upload.nextStep(on: Self.head(status, fields)) == .result, "\(status)")
    }
    var fresh = try #require(ResumableUpload(Self.job()))
    for status in [200, 201, 404, 500] { #expect(fresh.nextStep(on: Self.head(status)) == .result) }
  }

  /// The server always asks for more, or always corrects the offset.
  @Test func `upload ends if the server never accepts it`() throws {
    for fields in [["Upload-Offset": "4", "Upload-Complete": "?0"], ["Upload-Complete": "?0"]] {
      for status in [204, 409] {
        var upload = try #require(ResumableUpload(Self.job(resuming: Self.task)))
        var nextStep = upload.nextStep(on: Self.head(204, ["Upload-Offset": "4"]))
        var count = 0
        while case .send = nextStep {
          nextStep = upload.nextStep(on: Self.head(status, fields))
          count += 1
          guard count < 2000 else { Issue.record("\(status) \(fields)"); return }
        }
      }
    }
  }

  // MARK: A random walk

  /// The server keeps what it receives, and the connection breaks at random. In the end the server has every byte once.
  @Test(arguments: 0..<100) func `every byte arrives once despite lost connections`(_ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let body = (0..<Int.random(in: 1...60, using: &random)).map { UInt8($0) }
    let limit = Bool.random(using: &random) ? Int.random(in: 1...20, using: &random) : nil
    var kept: [UInt8] = []
    var resuming: TaskID?
    for attempt in 0..<500 {
      var upload = try #require(ResumableUpload(Self.job(body: .data(body), resuming: resuming)))
      var request = upload.first
      var isCut = false
      while !isCut {
        let range = upload.range
        var fields = ["Upload-Draft-Interop-Version": "8"]
        if let limit { fields["Upload-Limit"] = "min-size=0, max-append-size=\(limit)" }
        guard request.method != "HEAD" else {
          fields["Upload-Offset"] = "\(kept.count)"
          guard case .send(let next) = upload.nextStep(on: Self.head(204, fields)) else {
            Issue.record("no offset"); return
          }
          request = next
          continue
        }
        #expect(request.method == "POST" || Int64(kept.count) == range.lowerBound)
        if request.method == "POST" { kept = [] }
        if upload.step == .creation, Int.random(in: 0..<3, using: &random) > 0 {
          fields["Location"] = "/r"
          #expect(
            upload.handleInformational(informational: Self.head(104, fields), at: try CurlURL(Self.url)))
        }
        let sent = Array((request.body?.data ?? []).prefix(Int(range.count)))
        #expect(sent == Array(body[Int(range.lowerBound)..<Int(range.upperBound)]))
        isCut = Int.random(in: 0..<3, using: &random) == 0
        kept += isCut ? sent.prefix(Int.random(in: 0...sent.count, using: &random)) : sent[...]
        guard !isCut else { break }
        let isLast = range.upperBound == Int64(body.count)
        fields["Upload-Complete"] = isLast ? "?1" : "?0"
        fields["Location"] = nil
        switch upload.nextStep(on: Self.head(isLast ? 201 : 204, fields)) {
        case .result:
          #expect(isLast && kept == body)
          return
        case .send(let next): request = next
        case .failed(let error): Issue.record("\(error)"); return
        }
      }
      resuming = upload.point.map { _ in Self.task }
      #expect(attempt < 400)
    }
  }
}
