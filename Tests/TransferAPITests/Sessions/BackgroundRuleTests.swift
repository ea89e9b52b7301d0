import JSON
import TestSupport
import Testing

/// What background sessions refuse.
@Suite(.serialized, .blocking) struct BackgroundRuleTests {
  /// URLSession's convenience tasks are not there either. A task that nobody resumes is not waited for, as everywhere.
  @Test func nobodyWaitsForTheEnd() throws {
    let place = try APIPlace()
    let session = try place.background("a").json.id
    for (resumes, status) in [(true, 400), (false, 201)] {
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

  @Test func somebodyHasToHearOfTheEnd() throws {
    let place = try APIPlace()
    let refused = try place.background("a", "")
    #expect(refused.status == 400 && refused.pointers == ["/delegate"])
    #expect(try place.background("a").status == 201)
  }
}
