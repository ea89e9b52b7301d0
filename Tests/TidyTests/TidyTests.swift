import Testing

/// What no review should have to say twice.
@Suite struct TidyTests {
  private static let banned: [(word: String, instead: String)] = [
    ("try!", "handle the error"), ("Task.detached", "a structured task"),
    ("DispatchQueue", "EventLoop, WorkerPool"),
    ("print(", "the logger"), ("FIXME", "an issue"), ("TODO", "an issue"), ("fatalError(", "a thrown error"),
    ("XCTest", "Swift Testing"),
  ]
  /// The wrappers own raw memory and threads; elsewhere such promises are not needed.
  private static let uncheckedRooms = [
    "Curl", "EventLoop", "HTTPServer", "TransferStore", "TransferEngine", "Webhooks", "Netlink",
  ]

  @Test func bannedWordsAreNotUsed() throws {
    for files in try Tree.swiftFiles(under: "Sources").values {
      for file in files {
        for (word, instead) in Self.banned {
          #expect(!file.text.contains(word), "\(file.path): \(word); use \(instead)")
        }
      }
    }
  }

  @Test func uncheckedSendableOnlyInTheWrappersAndWithAReason() throws {
    for (target, files) in try Tree.swiftFiles(under: "Sources") {
      for file in files where file.text.contains("@unchecked Sendable") {
        #expect(Self.uncheckedRooms.contains(target), "\(file.path)")
        #expect(file.text.contains("// Unchecked: "), "\(file.path) does not say why")
      }
    }
  }

  @Test func filesFitInAHead() throws {
    for files in try Tree.swiftFiles(under: "Sources").values {
      for file in files { #expect(file.lines.count <= 400, "\(file.path) has \(file.lines.count) lines") }
    }
  }
}
