import JSON
import TestSupport
import Testing

/// Rules of background sessions for requests.
@Suite(.serialized, .blocking) struct BackgroundRuleTests {
  /// No worker runs, so the task does not end.
  @Test func `reply waits for the end of a background task`() throws {
    let place = try InProcessAPI()
    let session = try place.background("a").json.id
    let reply = try place.call(
      "POST", "/v1/sessions/\(session)/tasks",
      #"{"kind":"data","resume":true,"request":{"url":"http://127.0.0.1:1/"}}"#, [("Prefer", "wait=0.01")])
    #expect(reply.status == 202 && reply["Preference-Applied"] == "wait=1", "\(reply.text)")
  }

  @Test func `completion of a background task is checked`() throws {
    let place = try InProcessAPI()
    let session = try place.background("a").json.id
    for (url, status) in [("https://hook.test/", 201), ("ftp://hook.test/", 400)] {
      let reply = try place.call(
        "POST", "/v1/sessions/\(session)/tasks",
        #"{"kind":"data","request":{"url":"http://127.0.0.1:1/"},"completion":{"webhook":{"url":"\#(url)"}}}"#
      )
      #expect(reply.status == status)
    }
  }

  @Test func `background session requires a delegate`() throws {
    let place = try InProcessAPI()
    let refused = try place.background("a", "")
    #expect(refused.status == 400 && refused.pointers == ["/delegate"])
    #expect(try place.background("a").status == 201)
  }
}
