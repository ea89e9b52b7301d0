import JSON
import TestSupport
import Testing

/// Requests that background sessions refuse.
@Suite(.serialized, .blocking) struct BackgroundRuleTests {
  /// URLSession has no completion-handler tasks in background sessions either. If the task is not resumed, `Prefer:
  /// wait` replies at once, as everywhere.
  @Test func `waiting for the end of a background task is refused`() throws {
    let place = try InProcessAPI()
    let session = try place.background("a").json.id
    for (resumes, status) in [(true, 400), (false, 202)] {
      let reply = try place.call(
        "POST", "/v1/sessions/\(session)/tasks",
        #"{"kind":"data","resume":\#(resumes),"request":{"url":"http://127.0.0.1:1/"}}"#,
        [("Prefer", "wait=5")])
      #expect(reply.status == status)
      guard status == 400 else { continue }
      #expect(reply.pointers == ["/Prefer"])
      #expect(reply.json["errors"]?.elements?.first?["in"]?.string == "header")
    }
  }

  @Test func `background session requires a delegate`() throws {
    let place = try InProcessAPI()
    let refused = try place.background("a", "")
    #expect(refused.status == 400 && refused.pointers == ["/delegate"])
    #expect(try place.background("a").status == 201)
  }
}
