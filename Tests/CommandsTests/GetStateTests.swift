import Foundation
import TestSupport
import Testing

@testable import Commands

@Suite struct GetStateTests {
  private static func open(_ directory: String) throws(CommandFailure) -> GetState {
    try GetState(target: "/target", environment: ["XDG_STATE_HOME": directory])
  }

  @Test func `places survive the command and an incomplete last line`() throws {
    let directory = TemporaryDirectory.make("state")
    let file = TransferItem.PlacedFile(path: "/target/a b", size: 5, sha256: "ab")
    do {
      let state = try Self.open(directory)
      try state.record("k1", name: "a b")
      try state.record("k1", name: "a b", file: file)
      try state.record("k2", name: "c\"\u{7}")
      let journal = try #require(FileHandle(forWritingAtPath: state.path + "/files"))
      try journal.seekToEnd()
      try journal.write(contentsOf: Data(#"{"key":"k3","na"#.utf8))
    }
    let state = try Self.open(directory)
    #expect(
      state.records == ["k1": .init(name: "a b", file: file), "k2": .init(name: "c\"\u{7}", file: nil)])
    #expect(state.finishedFiles().isEmpty)
    #expect(state.file("/elsewhere") == "/elsewhere" && state.file("x") == "/target/x")
    state.remove()
    #expect(!FileManager.default.fileExists(atPath: state.path))
  }

  @Test func `second command of a directory is refused`() throws {
    let directory = TemporaryDirectory.make("state")
    let state = try Self.open(directory)
    let error = #expect(throws: CommandFailure.self) { try Self.open(directory) }
    #expect(error?.cause == .file && error?.message?.contains("/target") == true)
    withExtendedLifetime(state) {}
  }

  @Test func `missing home is a wrong setting`() {
    let error = #expect(throws: CommandFailure.self) {
      try GetState(target: "/target", environment: ["XDG_STATE_HOME": "relative"])
    }
    #expect(error?.cause == .settings)
  }
}

@Suite struct ContextsTests {
  @Test func `file of contexts is private and complete`() throws {
    let path = TemporaryDirectory.make("config") + "/ferry/contexts.json"
    #expect(try Contexts(path: path) == Contexts())
    var contexts = Contexts()
    contexts.current = "a"
    contexts.entries = [
      "a": .init(server: "http://h", token: "t\""), "b": .init(server: "http://i", token: nil),
    ]
    try contexts.write(to: path)
    #expect(try Contexts(path: path) == contexts)
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    for (mode, text) in [(0o640, "{}"), (0o600, "{")] {
      try text.write(toFile: path, atomically: false, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
      let error = #expect(throws: CommandFailure.self) { try Contexts(path: path) }
      #expect(error?.cause == .settings)
    }
  }
}
