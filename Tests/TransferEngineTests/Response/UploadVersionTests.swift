import EngineAPI
import HTTPFields
import TestSupport
import Testing
import TransferModel

@testable import Curl
@testable import TransferEngine

/// Interop version 6 of draft-ietf-httpbis-resumable-upload (drafts -04 and -05), with exchanges from tusd's public tests.
@Suite struct UploadVersionTests {
  private static let task = TaskID(high: 1, low: 1)
  private static let url = "http://tus.io/files/"

  private static func job(_ point: UploadPoint? = nil) -> TransferJob {
    let request = TransferRequest(url: url, method: "POST", body: .data(Array("0123456789".utf8)))
    var job = TransferJob(
      task: task, session: .shared, configuration: SessionConfiguration(), kind: .upload, request: request,
      priority: 0.5)
    job.resumePoint = point.map { .upload($0) }
    return job
  }

  private static func head(_ status: Int, _ fields: [(String, String)]) -> ResponseHead {
    var headers = HTTPHeaders()
    for (name, value) in fields { headers.append(name, value) }
    return ResponseHead(httpVersion: "HTTP/1.1", status: status, headers: headers)
  }

  private static func resumed() throws -> ResumableUpload {
    let point = UploadPoint(resource: "http://tus.io/files/foo", source: task, version: 6)
    return try #require(ResumableUpload(job(point)))
  }

  private static func field(_ name: String, of upload: ResumableUpload) -> String? {
    upload.fields.first { $0.name == name }?.value
  }

  private static let version = "Upload-Draft-Interop-Version"

  // MARK: Versions

  @Test func `origin is offered the versions in turn until it supports one`() {
    var versions = UploadVersions()
    #expect(versions["a"] == .v8)
    for next in [UploadVersion.v6, .v8, .v6] {
      versions.record(versions["a"], isSpoken: false, at: "a")
      #expect(versions["a"] == next && versions["b"] == .v8)
    }
    versions.record(.v6, isSpoken: true, at: "a")
    versions.record(.v6, isSpoken: false, at: "a")
    #expect(versions["a"] == .v6, "one upload without an answer does not reset the version")
    versions.record(.v8, isSpoken: true, at: "a")
    #expect(versions["a"] == .v8)
    for index in 0..<UploadVersions.maximumOrigins { versions.record(.v8, isSpoken: false, at: "\(index)") }
    #expect(versions["a"] == .v8 && versions["\(UploadVersions.maximumOrigins - 1)"] == .v6)
  }

  @Test(arguments: [(UploadVersion.v6, "6", true), (.v6, "8", false), (.v6, "5", false), (.v8, "6", false)])
  func `unoffered version is ignored`(_ offered: UploadVersion, _ answered: String, _ isTaken: Bool) throws {
    var upload = try #require(ResumableUpload(Self.job(), offering: offered))
    #expect(Self.field(Self.version, of: upload) == "\(offered.rawValue)")
    let fields = [
      (Self.version, answered), ("Location", "http://tus.io/files/foo"),
      ("Upload-Limit", "min-size=0,max-size=10"), ("X-Content-Type-Options", "nosniff"),
    ]
    #expect(
      upload.handleInformational(informational: Self.head(104, fields), at: try CurlURL(Self.url)) == isTaken)
    #expect(upload.point?.version == (isTaken ? 6 : nil))
  }

  @Test(arguments: [
    UploadPoint(resource: "http://a/r", source: task),
    UploadPoint(resource: "http://a/r", source: task, version: 6),
  ]) func `resume data keep the version`(_ point: UploadPoint) throws {
    let upload = try #require(ResumableUpload(Self.job(point), offering: .v8))
    #expect(Self.field(Self.version, of: upload) == "\(point.version ?? 8)")
  }

  // MARK: Exchanges with tusd

  /// A tus server treats an unknown version as a request of tus 1.0, and refuses that.
  @Test func `tus server is offered the other version at once`() throws {
    var upload = try #require(ResumableUpload(Self.job()))
    let refusal = Self.head(412, [("Tus-Resumable", "1.0.0"), ("X-Content-Type-Options", "nosniff")])
    #expect(upload.nextStep(on: refusal) == .send(upload.request))
    #expect(upload.step == .creation && Self.field(Self.version, of: upload) == "6")
    #expect(upload.nextStep(on: refusal) == .result, "there is no third version")
    var other = try #require(ResumableUpload(Self.job()))
    #expect(other.nextStep(on: Self.head(412, [])) == .result)
  }

  @Test func `whole upload ends with the response`() throws {
    var upload = try #require(ResumableUpload(Self.job(), offering: .v6))
    let fields = [
      (Self.version, "6"), ("Location", "http://tus.io/files/foo"), ("Upload-Offset", "10"),
      ("Upload-Limit", "min-size=0,max-size=10"),
    ]
    #expect(upload.nextStep(on: Self.head(201, fields)) == .result)
  }

  @Test(arguments: [204, 200]) func `rest of the upload is appended`(_ status: Int) throws {
    var upload = try Self.resumed()
    #expect(upload.first.method == "HEAD" && upload.fields.map(\.value) == ["6"])
    let told = [
      (Self.version, "6"), ("Upload-Offset", "5"), ("Upload-Length", "10"), ("Upload-Complete", "?0"),
      ("Upload-Limit", "min-size=0,max-size=10"), ("Cache-Control", "no-store"),
    ]
    guard case .send(let rest) = upload.nextStep(on: Self.head(status, told)) else {
      Issue.record("the rest of the upload was not sent")
      return
    }
    #expect(rest.method == "PATCH" && rest.url == "http://tus.io/files/foo")
    #expect(rest.headers["Content-Type"] == "application/partial-upload")
    #expect(rest.body == .data(Array("56789".utf8)))
    #expect(Self.field("Upload-Offset", of: upload) == "5" && Self.field(Self.version, of: upload) == "6")
    #expect(Self.field("Upload-Complete", of: upload) == "?1")
    #expect(upload.nextStep(on: Self.head(204, [(Self.version, "6"), ("Upload-Offset", "10")])) == .result)
  }

  @Test func `offset response of a complete upload is the result`() throws {
    var upload = try Self.resumed()
    let told = [
      (Self.version, "6"), ("Upload-Offset", "10"), ("Upload-Length", "10"), ("Upload-Complete", "?1"),
    ]
    #expect(upload.nextStep(on: Self.head(204, told)) == .result)
  }

  /// The response does not name the server's offset.
  @Test func `mismatch without an offset leads to an offset request`() throws {
    var upload = try Self.resumed()
    _ = upload.nextStep(on: Self.head(204, [("Upload-Offset", "5"), ("Upload-Complete", "?0")]))
    guard case .send(let again) = upload.nextStep(on: Self.head(409, [("Content-Type", "text/plain")])) else {
      Issue.record("the rest of the upload was not sent")
      return
    }
    #expect(again.method == "HEAD" && upload.step == .offsetRetrieval)
    _ = upload.nextStep(on: Self.head(204, [("Upload-Offset", "3"), ("Upload-Complete", "?0")]))
    #expect(upload.step == .append(3..<10))
  }

  // MARK: The drafts

  /// Draft -05, "Upload Append": the response to a part calls the upload complete, with the offset that the server has.
  @Test(arguments: ["?1", "?0", nil]) func `part does not end the upload`(_ isComplete: String?) throws {
    var upload = try Self.resumed()
    let limit = ("Upload-Limit", "max-append-size=4, expires=60")
    _ = upload.nextStep(on: Self.head(204, [("Upload-Offset", "0"), ("Upload-Complete", "?0"), limit]))
    for end in [Int64(8), 10] {
      var fields = [("Upload-Offset", "\(end - (end == 10 ? 2 : 4))"), limit]
      if let isComplete { fields.append(("Upload-Complete", isComplete)) }
      _ = upload.nextStep(on: Self.head(201, fields))
      #expect(upload.range.upperBound == end)
    }
    #expect(upload.nextStep(on: Self.head(201, [("Upload-Offset", "10")])) == .result)
  }
}
