import JSON
import Testing

@testable import TransferModel

/// Filters of tasks, and the texts by which clients find tasks.
@Suite struct TaskFilterTests {
  private static func task(
    _ url: String = "http://a/x", _ number: UInt64 = 1, _ change: (inout TaskSpecification) -> Void = { _ in }
  ) -> TransferTask {
    var specification = TaskSpecification(kind: .data, request: TransferRequest(url: url))
    change(&specification)
    return TransferTask(
      id: TaskID(high: 0x0199_0000_0000_7000, low: 0x8000_0000_0000_0000 | number), sessionID: .shared,
      taskIdentifier: 1, createdAt: Timestamp(seconds: 100), specification: specification)
  }

  @Test(
    arguments: [
      ("*", "", true), ("*", "abc", true), ("", "", true), ("", "a", false), ("a*c", "abbc", true),
      ("a*c", "ac", true), ("a*c", "acb", false), ("?", "a", true), ("?", "", false), ("a?c", "abc", true),
      ("*b*", "abc", true), ("*bc", "abcbc", true), ("*.zip", "http://a/b.zip", true),
      ("*.zip", "http://a/b.zip?x", false), ("a**b", "ab", true), ("*a*a*a", "aaa", true),
      ("*a*a*a*a", "aaa", false), ("A", "a", false), ("*é*", "café!", true),
    ])
  func `glob matches whole texts`(_ pattern: String, _ text: String, _ isMatching: Bool) {
    #expect(Glob(pattern).matches(text) == isMatching)
  }

  @Test(
    arguments: [
      ("tsk_01990000", true), ("tsk_01990001", false), ("tsk_", nil), ("tsk_0199000", nil),
      ("00000001", true),
      ("00000002", false), ("000000000001", true), ("8000-000000000001", true), ("0199000", nil), ("x", nil),
      ("tsk_g", nil), ("", nil),
    ] as [(String, Bool?)])
  func `short id matches a beginning or an ending`(_ text: String, _ isMatching: Bool?) {
    let id = ShortTaskID(text)
    #expect((id != nil) == (isMatching != nil))
    #expect(id?.matches(Self.task().id) == isMatching)
    if let id, id.matches(Self.task().id) { #expect(id.range.contains(Self.task().id)) }
  }

  @Test func `whole id is a short id`() throws {
    let id = Self.task().id
    let short = try #require(ShortTaskID("\(id)"))
    #expect(short.range == id...id)
  }

  @Test func `texts are searched`() {
    let task = Self.task("http://a/b/c.zip") { specification in
      specification.description = "nightly import"
      specification.preferences.labels = [TaskLabel(key: "a", value: "1"), TaskLabel(key: "b", value: "2")]
    }
    func matches(_ change: (inout TaskFilter) -> Void) -> Bool {
      var filter = TaskFilter()
      change(&filter)
      #expect(filter.searchesTexts && !filter.isEmpty)
      return filter.matchesTexts(of: task)
    }
    #expect(matches { $0.url = Glob("*.zip") } && !matches { $0.url = Glob("*.gz") })
    #expect(matches { $0.urlPrefix = "http://a/b" } && !matches { $0.urlPrefix = "http://b" })
    #expect(matches { $0.description = "ly im" } && !matches { $0.description = "Import" })
    #expect(matches { $0.description = "nightly import" } && !matches { $0.description = "nightly imports" })
    #expect(matches { $0.labels = task.labels })
    #expect(!matches { $0.labels = task.labels + [TaskLabel(key: "b", value: "3")] })
    #expect(TaskFilter.searchCost(of: task) == 1)
    #expect(TaskFilter.searchCost(of: Self.task("http://" + String(repeating: "a", count: 4096))) == 5)
  }

  @Test(
    arguments: [(nil, .succeeded), (.cancelled, .cancelled), (.timedOut, .failed)]
      as [(URLErrorCode?, TaskOutcome)])
  func `outcome follows from the error`(_ code: URLErrorCode?, _ outcome: TaskOutcome) {
    var task = Self.task()
    #expect(task.outcome == nil)
    _ = task.lifecycle.complete()
    task.error = code.map { TransferError($0, "x") }
    #expect(task.outcome == outcome)
  }

  private static func read(_ text: String) throws -> (TaskPreferences, [FieldViolation]) {
    let violations = Violations()
    var reader = ObjectReader(try JSONParser.parse(Array(text.utf8)), at: "", violations)
    let preferences = TaskPreferences(validating: &reader, of: .data)
    reader.finish()
    return (preferences, violations.all)
  }

  @Test func `group and labels are read, shown and measured`() throws {
    let (preferences, violations) = try Self.read(#"{"group":"g","labels":{"b":"2","a":""}}"#)
    #expect(violations.isEmpty && preferences.group == "g" && preferences.textSize == 4)
    #expect(preferences.labels == [TaskLabel(key: "a", value: ""), TaskLabel(key: "b", value: "2")])
    let shown = try JSONParser.parse(Self.task { $0.preferences = preferences }.json)
    #expect(shown["group"]?.string == "g" && shown["labels"]?["b"]?.string == "2")
    let plain = try JSONParser.parse(Self.task().json)
    #expect(plain["group"] == nil && plain["labels"] == nil && plain["outcome"] == nil)
    #expect(try Self.read(#"{"group":null,"labels":null}"#).1.isEmpty)
  }

  private static let long = String(repeating: "x", count: 300)

  @Test(
    arguments: [
      (#"{"group":""}"#, "/group", false), (#"{"group":"\#(long)"}"#, "/group", true),
      (#"{"group":1}"#, "/group", false), (#"{"labels":[]}"#, "/labels", false),
      (#"{"labels":{"":"x"}}"#, "/labels/", false), (#"{"labels":{"a:b":"x"}}"#, "/labels/a:b", false),
      (#"{"labels":{"a":1}}"#, "/labels/a", false), (#"{"labels":{"a":"\#(long)"}}"#, "/labels/a", true),
      (#"{"labels":{"\#(long)":"a"}}"#, "/labels/\(long)", true),
      (
        "{\"labels\":{\((0...32).map { "\"\($0)\":\"\"" }.joined(separator: ","))}}",
        "/labels", true
      ),
    ])
  func `wrong group or label is named`(_ text: String, _ pointer: String, _ isExcess: Bool) throws {
    let violations = try Self.read(text).1
    #expect(violations.map(\.pointer) == [pointer] && violations.map(\.isExcess) == [isExcess])
  }

  @Test func `label is parsed at its first colon`() {
    #expect(TaskLabel("a:b:c") == TaskLabel(key: "a", value: "b:c"))
    #expect(TaskLabel("a:b:c")?.text == "a:b:c" && TaskLabel("a") == nil)
  }
}
