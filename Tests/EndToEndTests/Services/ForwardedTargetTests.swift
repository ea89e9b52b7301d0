import JSON
import TestSupport
import Testing

/// A forwarded request keeps the target of its client, byte for byte, so the owner and another service reply alike.
@Suite(.serialized, .blocking, .endsInTime) struct ForwardedTargetTests {
  private let directory = TemporaryDirectory.make("ferry-forwarded")

  /// `ses_S` and `tsk_T` stand for a session and one of its tasks.
  private static let targets: [String] =
    [
      "/v1/sessions/ses_S", "/v1/sessions/ses_S/", "/v1/sessions/ses_S//", "//v1/sessions/ses_S",
      "/v1//sessions/ses_S",
      "/v1/sessions/ses_S?", "/v1/sessions/ses_S??", "/v1/sessions/ses_S?#", "/v1/sessions/ses_S#x",
      "/v1/sessions/ses_S?a#x",
      "/v1/sessions/ses_S/.", "/v1/sessions/ses_S/./tasks", "/v1/sessions/ses_S/x/../tasks",
      "/v1/sessions/ses_S/..",
      "/v1/sessions/ses_S/%2e%2e/tasks", "/v1/sessions/ses_S/%2E/tasks", "/v1/sessions/ses_S%2Ftasks",
      "/v1/sessions/ses_S/tasks/", "/v1/sessions/ses_S/tasks?limit=5#x", "/v1/sessions/ses_S/tasks?limit=%35",
      "/v1/sessions/ses_S/tasks?limit=+5", "/v1/sessions/ses_S/tasks?limit=5&state=%73uspended",
      "/v1/sessions/ses_S/tasks?&&&", "/v1/sessions/ses_S/tasks?limit", "/v1/sessions/ses_S/tasks?=5",
      "/v1/sessions/ses_S/tasks?cursor=", "/v1/sessions/ses_S/tasks?cursor=%00",
      "/v1/sessions/ses_S/tasks?a=b;c",
      "/v1/sessions/ses_S/cookies?domain=.A.test", "/v1/sessions/ses_S/cookies?domain=%2Ea.test&path=%2F",
      "/v1/sessions/ses_S/cookies?path=/a//b/../c", "/v1/sessions/ses_S/credentials?realm=a+b%20c",
      "/v1/sessions/ses_S/credentials?realm=%C3%A9", "/v1/sessions/ses_S/credentials?realm=é",
      "/v1/sessions/ses_S/cache?limit=1#", "/V1/sessions/ses_S", "/v1/sessions/ses_S\\",
      "/v1/sessions/ses_S;x",
    ] + [
      "/v1/tasks/tsk_T", "/v1/tasks/tsk_T/", "/v1/tasks/tsk_T#a", "/v1/tasks/tsk_T?include=body#a",
      "/v1/tasks/tsk_T?include=b%6fdy",
      "/v1/tasks/tsk_T?include=%zz", "/v1/tasks/tsk_T?include=body%", "/v1/tasks/tsk_T?include=body%2",
      "/v1/tasks/tsk_T?include=body&include=body", "/v1/tasks/tsk_T?\"<>", "/v1/tasks/tsk_T?^|`",
      "/v1/tasks/tsk_T?{}",
      "/v1/tasks/tsk_T?[]", "/v1/tasks/tsk_T?a=%00", "/v1/tasks/tsk_T?a=é", "/v1/tasks/tsk_T?\\",
      "/v1/tasks/tsk_T/metrics/",
      "/v1/tasks/tsk_T%20", "/v1/tasks/%54", "/v1/t%61sks/tsk_T", "/v1/tasks/tsk_T:80", "/v1/tasks/tsk_T@a",
      "http://127.0.0.1/v1/tasks/tsk_T", "http://127.0.0.1/v1/tasks/tsk_T/?x",
      "HTTP://a.test/v1/tasks/tsk_T?include=body",
    ]

  @Test func `both services reply alike to unusual targets`() throws {
    let owner = try FerryProcess(directory: directory)
    let other = try FerryProcess(directory: directory)
    #expect(owner.hasLogged("a service has joined"))
    let session = try owner.call("POST", "/v1/sessions", "{}").json.id
    let task = try owner.call(
      "POST", "/v1/sessions/\(session)/tasks", #"{"kind":"data","request":{"url":"http://a.test/"}}"#
    ).json.id
    #expect(Self.targets.count >= 60)
    for target in Self.targets {
      let target = target.replacing("ses_S", with: session).replacing("tsk_T", with: task)
      let replies = try [owner, other].map { try HTTPClient(port: $0.port).send("GET", target) }
      #expect(replies[0].status == replies[1].status, "\(target)")
      #expect(replies[0].text == replies[1].text, "\(target)")
    }
    #expect([owner, other].map { $0.terminate() } == [0, 0])
  }
}
