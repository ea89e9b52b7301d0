import Testing

/// What no review should have to say twice.
@Suite struct TidyTests {
  private static let banned: [(word: String, instead: String)] = [
    ("try!", "handle the error"), ("Task.detached", "a structured task"),
    ("DispatchQueue", "EventLoop, WorkerPool"),
    ("print(", "the logger"), ("FIXME", "an issue"), ("TODO", "an issue"), ("fatalError(", "a thrown error"),
    ("XCTest", "Swift Testing"), ("MSG_NOSIGNAL", "clinux_no_signal"), ("MSG_DONTWAIT", "clinux_no_wait"),
    (
      // A caller may use what was yielded after the coroutine has ended and its frame is freed: LoadableByAddress of Swift 6.3 reads
      // a large value where it was, though it has copied it.
      "_read {", "get"
    ), ("_modify {", "get and set"),
    (
      "@inlinable",
      "no generic parameter: the compiler inlines in other modules what is public, and nothing else"
    ),
  ]
  /// The wrappers own raw memory and threads; elsewhere such promises are not needed.
  private static let uncheckedRooms = [
    "Curl", "EventLoop", "HTTPServer", "SQLiteLedger", "TransferEngine", "Webhooks", "Netlink",
    "TransferCore", "Cluster", "EngineAPI",
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

  /// A reader who looks for a file by its name finds one.
  @Test func sourceFilesHaveDifferentNames() throws {
    let paths = try Tree.swiftFiles(under: "Sources").flatMap(\.value).map(\.path)
    for (name, paths) in Dictionary(grouping: paths, by: { $0.split(separator: "/").last ?? "" }) {
      #expect(paths.count == 1, "\(name): \(paths)")
    }
  }

  /// glibc's records of a directory are no longer than their names: a copy of the field is read beyond their end. Foundation's
  /// `Process` does so (`findMaximumOpenFromProcSelfFD`).
  @Test func noRecordOfADirectoryIsCopied() throws {
    let process = /(^|[^\w.])Process\(\)/
    for files in try [Tree.swiftFiles(under: "Sources"), Tree.swiftFiles(under: "Tests")].flatMap(\.values) {
      for file in files where !file.path.hasSuffix("/TidyTests.swift") {
        for line in file.lines {
          #expect(!line.contains("pointee.d_name"), "\(file.path): \(line); use its address")
          #expect(line.firstMatch(of: process) == nil, "\(file.path): \(line); use ChildProcess")
        }
      }
    }
  }

  /// The number of a child that has ended and was waited for may be another process's.
  @Test func childrenAreSignalledOnlyWhileTheyRun() throws {
    let raw = /kill\([^,]*\.processIdentifier, [^0]/
    for file in try Tree.swiftFiles(under: "Tests").flatMap(\.value) {
      for line in file.lines where line.firstMatch(of: raw) != nil {
        Issue.record("\(file.path): \(line); use ChildProcess.send, or FerryProcess.signal")
      }
    }
  }

  /// What waits for a disk goes through `Disk`, which no loop may call.
  @Test func diskCallsAreMadeInOnePlace() throws {
    let raw = /(^|[^.\w])(unlink|ftruncate|mkdir|rmdir|opendir|fsync|fdatasync)\(/
    let closes = /(^|[^.\w])close\((descriptor|input|output)\)/
    let named = /Glibc\.(open|close|link|rename|unlink)\(/
    for target in ["EngineAPI", "TransferEngine", "HTTPCache"] {
      for file in try Tree.swiftFiles(under: "Sources")[target] ?? [] {
        for line in file.lines where !line.contains("//") {
          let opens = line.contains("O_RDONLY") || line.contains("O_WRONLY") || line.contains("O_RDWR")
          let isRaw =
            line.firstMatch(of: raw) != nil || line.firstMatch(of: named) != nil
            || line.firstMatch(of: closes) != nil
          let isOurs = line.contains("Disk.") || line.contains("medium.")
          #expect(!isRaw && (!opens || isOurs), "\(file.path): \(line); use Disk")
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

  /// A closure that is a mutex's own value is wrapped in two more thunks at each access, and stays so: each call
  /// gets slower for ever. As a field of a struct it is not.
  @Test func noClosureIsAMutexsOwnValue() throws {
    let files = try Tree.swiftFiles(under: "Sources").values.flatMap { $0 }
    let aliases = files.flatMap { ClosureInMutex.aliases(in: $0.text) }
    for file in files {
      for value in ClosureInMutex.values(in: file.text, aliases: Set(aliases)) {
        Issue.record("\(file.path): Mutex<\(value)>; put the closure into a struct, or use Relay")
      }
    }
  }

  @Test(arguments: [
    ("Mutex<(@Sendable (Int) -> Void)?>(nil)", ["(@Sendable (Int) -> Void)?"]),
    ("let a: Mutex<Done>", ["Done"]), ("let a: Mutex<Done?>", ["Done?"]),
    ("Mutex<Optional<() async -> Int>>", ["Optional<() async -> Int>"]),
    ("let a = Mutex<Set<Int>>([]); func b() -> Int", []), ("Mutex<[String: Doner]>", []),
    ("Mutex(State())", []),
  ])
  func closuresInMutexesAreFound(_ text: String, _ expected: [String]) {
    #expect(ClosureInMutex.values(in: text, aliases: ["Done"]) == expected)
    #expect(ClosureInMutex.aliases(in: "  package typealias Done = @Sendable (Int) -> Void\n") == ["Done"])
  }

  /// A sleep that is cancelled stays until its time has come: only what repeats for good may sleep.
  @Test func onlyWhatRepeatsSleeps() throws {
    for (target, files) in try Tree.swiftFiles(under: "Sources") where target != "ferry" {
      for file in files { #expect(!file.text.contains(".sleep("), "\(file.path): use an Alarm") }
    }
  }

  /// What cannot be read is told of, and does not become something else.
  @Test func storedRowsDoNotHeal() throws {
    let healing = [
      "?? .shared", "?? .completed", "?? .invalid", "?? .failed", "?? .withdrawn", "(high: 0, low: 0)",
      "Violations()", "ObjectReader(", "row.bytes(\"id\")",
    ]
    let folders = try Tree.swiftFiles(under: "Sources")
    let files = try ["Ledger", "SQLiteLedger"].flatMap { try #require(folders[$0]) }
    for file in files {
      for word in healing where !file.path.hasSuffix("StoredRow.swift") {
        // What is handed over from process to process has its own reader.
        if file.path.hasSuffix("SQLiteLedger+Queues.swift") { continue }
        #expect(!file.text.contains(word), "\(file.path): \(word); throw an UnreadableRow")
      }
    }
  }

  /// A case of the suite for ledgers that no list names would not run.
  @Test func conformanceCasesAreListed() throws {
    let files = try #require(try Tree.swiftFiles(under: "Tests")["LedgerConformance"])
    var listed: Set<String> = []
    for file in files {
      let cases = file.text.matches(of: /\n  func (\w+)\(\s*_ kind: LedgerKind/).map { String($0.1) }
      let calls = file.text.matches(of: /try await Self\(\)\.(\w+)\(\$0/).map { String($0.1) }
      #expect(cases.sorted() == calls.sorted(), "\(file.path)")
      listed.formUnion(calls)
    }
    #expect(listed.count > 60)
  }

  @Test func filesFitInAHead() throws {
    for files in try Tree.swiftFiles(under: "Sources").values {
      for file in files { #expect(file.lines.count <= 400, "\(file.path) has \(file.lines.count) lines") }
    }
  }
}
