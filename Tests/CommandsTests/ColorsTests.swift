import Testing

@testable import Commands

@Suite struct ColorsTests {
  private static let colors = Colors(isTerminal: true, [:])

  @Test(
    arguments: [
      (true, [:], true), (true, ["TERM": "xterm-256color"], true), (true, ["NO_COLOR": ""], true),
      (true, ["NO_COLOR": "1"], false), (true, ["NO_COLOR": "0"], false), (true, ["TERM": "dumb"], false),
      (false, [:], false), (false, ["CLICOLOR_FORCE": "1", "TERM": "xterm"], false),
    ] as [(Bool, [String: String], Bool)])
  func `stream has colours by terminal and environment`(
    isTerminal: Bool, environment: [String: String], isOn: Bool
  ) { #expect(Colors(isTerminal: isTerminal, environment).isOn == isOn) }

  @Test(
    arguments: [
      ("succeeded", .success), ("delivered", .success), ("failed", .failure), ("pending", .waiting),
      ("waitingToRetry", .waiting), ("waitingForDecision", .waiting), ("transferring", nil),
      ("suspended", nil),
      ("cancelled", nil), ("", nil),
    ] as [(String, Colors.Role?)])
  func `state has a role`(state: String, role: Colors.Role?) { #expect(Colors.Role(state: state) == role) }

  @Test(
    arguments: [
      (.success, "\u{1B}[32mx\u{1B}[0m"), (.failure, "\u{1B}[31mx\u{1B}[0m"),
      (.waiting, "\u{1B}[33mx\u{1B}[0m"),
      (.secondary, "\u{1B}[2mx\u{1B}[0m"), (nil, "x"),
    ] as [(Colors.Role?, String)])
  func `role has escape sequences`(role: Colors.Role?, text: String) {
    #expect(Self.colors.paint("x", role) == text && Colors.none.paint("x", role) == "x")
    #expect(Self.colors.paint("", role) == "")
  }

  @Test(arguments: 0...20) func `styled text is shortened as plain text`(cells: Int) {
    for words in [
      ["saved", " a-long-name.iso"], ["名前", "e\u{301}e\u{301}", "名前.txt", "x"], ["", "…", "……"],
    ] {
      let roles: [Colors.Role?] = [.success, nil, .failure, .waiting]
      let text = zip(words, roles).reduce(StyledText("")) { $0 + StyledText($1.0, $1.1) }
      let fitted = text.fitted(to: cells)
      #expect(fitted.plain == PlainText.fitted(words.joined(), to: cells))
      #expect(fitted.text(.none) == fitted.plain)
      let colored = fitted.text(Self.colors)
      #expect(colored.replacing(/\u{1B}\[[0-9]+m/, with: "") == fitted.plain)
      // Each sequence that begins a colour has its end.
      #expect(colored.ranges(of: "\u{1B}[").count == 2 * colored.ranges(of: "\u{1B}[0m").count)
    }
  }

  @Test func `shortened parts keep their roles`() {
    let text = StyledText("abcdef", .success) + StyledText("ghij") + StyledText("klmnop", .failure)
    #expect(text.fitted(to: 13).text(Self.colors) == "\u{1B}[32mabcdef\u{1B}[0mgh…\u{1B}[31mmnop\u{1B}[0m")
    #expect(text.fitted(to: 4).text(Self.colors) == "\u{1B}[32mabc\u{1B}[0m…")
    #expect((StyledText("a", .success) + StyledText("  ")).trimmed() == StyledText("a", .success))
  }

  @Test func `table has the same columns with and without colours`() {
    var table = AlignedTable(["ID", "STATE", "URL"], states: "STATE")
    table.append(["1", "failed", "u"])
    table.append(["22", "running", ""])
    #expect(table.lines(width: nil, .none) == ["ID   STATE     URL", "1    failed    u", "22   running"])
    #expect(
      table.lines(width: nil, Self.colors) == [
        "\u{1B}[2mID\u{1B}[0m   \u{1B}[2mSTATE\u{1B}[0m     \u{1B}[2mURL\u{1B}[0m",
        "1    \u{1B}[31mfailed\u{1B}[0m    u", "22   running",
      ])
    #expect(table.lines(width: 9, Self.colors)[1] == "1    \u{1B}[31mfai\u{1B}[0m…")
  }
}

@Suite struct CommandOutputTests {
  @Test(
    arguments: [
      (28, .file, "standard output cannot be written: No space left on device"), (32, .closedPipe, nil),
    ] as [(Int32, CommandFailure.Cause, String?)])
  func `failed write has a cause`(code: Int32, cause: CommandFailure.Cause, message: String?) {
    let failure = CommandOutput.failure(code)
    #expect(failure.cause == cause && failure.message == message)
  }
}
