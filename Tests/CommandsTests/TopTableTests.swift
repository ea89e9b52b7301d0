import JSON
import Testing

@testable import Commands

@Suite struct TopTableTests {
  private static func event(_ type: String, _ task: String, _ data: String) throws -> JSONValue {
    try JSONParser.parse(Array(#"{"type":"\#(type)","taskId":"\#(task)","data":\#(data)}"#.utf8))
  }
  private static func table() throws -> TopTable {
    var table = TopTable()
    let tasks = try (1...3).map { number in
      try JSONParser.parse(
        Array(
          #"{"id":"tsk_000000000\#(number)","originalRequest":{"url":"http://o/\#(number)"},"state":"running","phase":"queued"}"#
            .utf8))
    }
    table.load(tasks)
    return table
  }

  @Test func `keys move the selection and make commands`() throws {
    var table = try Self.table()
    #expect(table.press("x") == .command("cancel", task: "tsk_0000000001"))
    for key: Character in ["j", "j", "j", "k"] { #expect(table.press(key) == nil) }
    #expect(table.press("r") == .command("retry", task: "tsk_0000000002"))
    _ = table.press("G")
    #expect(table.press("d") == .command("delete", task: "tsk_0000000003"))
    table.remove("tsk_0000000003")
    #expect(table.press("s") == .command("suspend", task: "tsk_0000000002") && table.rows.count == 2)
    #expect(table.press("q") == .quit && table.press("\u{3}") == .quit)
    #expect(table.press("?") == nil && table.message == TopTable.keys)
  }

  @Test func `events change rows`() throws {
    var table = try Self.table()
    table.receive(try Self.event("task.didCreate", "tsk_new00000000", #"{"url":"http://o/\u001b[2Jnew"}"#))
    table.receive(
      try Self.event("task.didChangeState", "tsk_new00000000", #"{"state":"running","phase":"transferring"}"#)
    )
    table.receive(
      try Self.event(
        "downloadTask.didWriteData", "tsk_new00000000",
        #"{"totalBytesWritten":1024,"totalBytesExpectedToWrite":2048}"#))
    table.receive(
      try Self.event("task.didComplete", "tsk_0000000001", #"{"error":{"code":-1004,"message":"refused"}}"#))
    table.receive(try Self.event("task.didComplete", "tsk_0000000002", #"{"error":null}"#))
    table.receive(try Self.event("task.didComplete", "unknown", #"{"error":null}"#))
    #expect(table.rows.map(\.status) == ["transferring", "failed", "succeeded", "queued"])
    let lines = table.lines(columns: 120, height: 10, .none)
    #expect(lines.count == 10 && lines[0] == "4 tasks, 1 transferring, 1 failed, 0 B/s")
    #expect(lines[2].hasPrefix("> 00000000  transferring      1.0 KiB of 2.0 KiB"))
    #expect(lines[3].contains("refused – http://o/1"))
    #expect(lines.allSatisfy { !$0.contains("\u{1B}") && PlainText.width($0) < 120 })
    _ = table.press("f")
    #expect(
      table.lines(columns: 80, height: 10, .none)[2].contains("failed") && table.selected == "tsk_0000000001")
  }

  @Test func `failed row is red in the same cells`() throws {
    var table = try Self.table()
    table.receive(try Self.event("task.didComplete", "tsk_0000000001", #"{"error":{"message":"refused"}}"#))
    let colors = Colors(isTerminal: true, [:])
    for columns in [20, 40, 120] {
      let colored = table.lines(columns: columns, height: 10, colors)
      #expect(
        colored.map { $0.replacing(/\u{1B}\[[0-9]+m/, with: "") }
          == table.lines(columns: columns, height: 10, .none))
      #expect(columns == 20 || colored[2].contains("\u{1B}[31mfailed"))
    }
  }

  @Test(arguments: [(1, 1), (10, 3), (40, 5), (300, 50)])
  func `screen of any size has its lines`(columns: Int, height: Int) throws {
    let lines = try Self.table().lines(columns: columns, height: height, .none)
    #expect(lines.count >= min(height, 3) && lines.allSatisfy { PlainText.width($0) <= max(1, columns - 1) })
  }
}
