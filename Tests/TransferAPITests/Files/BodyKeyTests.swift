import Foundation
import TestSupport
import Testing

/// The file names of bodies, which contain the service's epoch. No URL of a body shows the epoch.
@Suite(.serialized, .blocking, .sharing) struct BodyKeyTests {
  private let place: InProcessAPI
  private let origin = TestOrigin { request, socket in
    try socket.write(TestOrigin.reply("200 OK", Pattern.bytes(Int(request.path.dropFirst()) ?? 0)))
    return true
  }

  init() throws { place = try .ofSuite() }

  private func names(of id: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: place.directory + "/bodies").filter {
      $0.hasPrefix(id)
    }
  }

  @Test func `body file is named by the epoch of its service`() throws {
    let task = try place.run(origin.url + "/40960")
    #expect(try names(of: task.id) == [task.id + ".1-0"])
    #expect(try place.body(of: task.id) == Pattern.bytes(40_960))
    let kept = try place.call("POST", "/v1/files", #"{"fromTask":"\#(task.id)"}"#)
    #expect(kept.status == 201)
    #expect(try names(of: task.id).isEmpty)
    #expect(try place.call("GET", "/v1/files/\(kept.json.id)").body == Pattern.bytes(40_960))
    let other = try place.run(origin.url + "/50000").id
    #expect(try names(of: other).count == 1)
    #expect(try place.call("DELETE", "/v1/tasks/\(other)/body").status == 204)
    #expect(try names(of: other).isEmpty)
  }
}
