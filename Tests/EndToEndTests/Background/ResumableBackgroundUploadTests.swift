import Glibc
import TestSupport
import Testing

/// Uploads of background sessions resume automatically if the server keeps the received bytes.
@Suite(.serialized, .blocking) struct ResumableBackgroundUploadTests {
  private let origin = ResumableUploadOrigin()

  /// The upload also resumes after the worker's death. A POST may resume too, because the server is asked how much it
  /// has received.
  @Test(arguments: [("POST", false), ("POST", true), ("PUT", false)])
  func `background upload resumes automatically`(_ method: String, _ dies: Bool) throws {
    let place = try BackgroundFixture()
    let session = try place.session("a", #"{"retry":{"backoff":0.01}}"#)
    origin.set { if dies { $0.stopsAt = 400_000 } else { $0.breaks = [400_000, 100_000] } }
    let id = try origin.upload(by: place.ferry, session: session, method: method)
    if dies {
      #expect(origin.stopped.wait())
      // The worker now knows that the upload is resumable.
      _ = try place.ferry.events("/v1/tasks/\(id)/events?after=0").read(
        upTo: "task.didReceiveInformationalResponse")
      #expect(try place.worker.send(SIGKILL))
      origin.goesOn.open()
    }
    origin.expectWhole(try place.ferry.end(of: id))
    let expected = dies ? ["HEAD", "PATCH"] : ["HEAD", "PATCH", "HEAD", "PATCH"]
    #expect(origin.requests == ["\(method) /files"] + expected.map { "\($0) /resource" })
  }

  /// If the server has lost the resource, only an idempotent request is sent again.
  @Test(arguments: [("PUT", true), ("POST", false)]) func `lost upload starts again if idempotent`(
    _ method: String, _ isSentTwice: Bool
  ) throws {
    let place = try BackgroundFixture()
    let session = try place.session("a", #"{"retry":{"backoff":0.01,"maximumAttempts":2}}"#)
    origin.set { ($0.breaks, $0.hasResource) = ([400_000], false) }
    let task = try place.ferry.end(of: origin.upload(by: place.ferry, session: session, method: method))
    if isSentTwice { origin.expectWhole(task) } else { #expect(task.errorCode == -1011) }
    #expect(
      origin.requests == ["\(method) /files", "HEAD /resource"] + (isSentTwice ? ["\(method) /files"] : []))
  }
}
