import Testing

/// Style rules of the sources that a review would otherwise repeat.
@Suite struct TidyTests {
  private static let banned: [(word: String, instead: String)] = [
    ("try!", "handle the error"), ("Task.detached", "a structured task"),
    ("DispatchQueue", "EventLoop, ThreadPool"),
    ("print(", "the logger"), ("FIXME", "an issue"), ("TODO", "an issue"), ("fatalError(", "a thrown error"),
    ("XCTest", "Swift Testing"), ("MSG_NOSIGNAL", "clinux_no_signal"), ("MSG_DONTWAIT", "clinux_no_wait"),
    (
      // A caller may use the yielded value after the coroutine has ended and its frame is freed.
      // LoadableByAddress of Swift 6.3 reads a large value at its old place, although it has copied the value.
      "_read {", "get"
    ), ("_modify {", "get and set"),
    (
      "@inlinable",
      "a type without generic parameters: the compiler inlines only public functions into other modules"
    ),
  ]
  /// Wrappers own raw memory and threads. Other targets need no unchecked conformance.
  private static let uncheckedRooms = [
    "Curl", "EventLoop", "HTTPServer", "SQLiteLedger", "TransferEngine", "Webhooks", "Netlink",
    "TransferCore", "Cluster", "EngineAPI", "FerryClient",
  ]

  @Test func `banned words are not used`() throws {
    for files in try SourceTree.swiftFiles(under: "Sources").values {
      for file in files {
        for (word, instead) in Self.banned {
          #expect(!file.text.contains(word), "\(file.path): \(word); use \(instead)")
        }
      }
    }
  }

  /// A file can be found by its name alone.
  @Test func `source files have different names`() throws {
    let paths = try SourceTree.swiftFiles(under: "Sources").flatMap(\.value).map(\.path)
    for (name, paths) in Dictionary(grouping: paths, by: { $0.split(separator: "/").last ?? "" }) {
      #expect(paths.count == 1, "\(name): \(paths)")
    }
  }

  /// A directory entry in glibc is only as long as its name, so a copy of the field reads beyond its end.
  /// Foundation's `Process` has this fault (`findMaximumOpenFromProcSelfFD`).
  @Test func `directory entries are not copied`() throws {
    let process = /(^|[^\w.])Process\(\)/
    for files in try [SourceTree.swiftFiles(under: "Sources"), SourceTree.swiftFiles(under: "Tests")].flatMap(
      \.values)
    {
      for file in files where !file.path.hasSuffix("/TidyTests.swift") {
        for line in file.lines {
          #expect(!line.contains("pointee.d_name"), "\(file.path): \(line); use its address")
          #expect(line.firstMatch(of: process) == nil, "\(file.path): \(line); use ChildProcess")
        }
      }
    }
  }

  /// The pid of a reaped child may be reused.
  @Test func `children are signalled only while they run`() throws {
    let raw = /kill\([^,]*\.processIdentifier, [^0]/
    for file in try SourceTree.swiftFiles(under: "Tests").flatMap(\.value) {
      for line in file.lines where line.firstMatch(of: raw) != nil {
        Issue.record("\(file.path): \(line); use ChildProcess.send, or FerryProcess.signal")
      }
    }
  }

  /// Blocking disk operations use `Disk`, which must not be called on a loop.
  @Test func `disk calls are made in one place`() throws {
    let raw = /(^|[^.\w])(unlink|ftruncate|mkdir|rmdir|opendir|fsync|fdatasync)\(/
    let closes = /(^|[^.\w])close\((descriptor|input|output)\)/
    let named = /Glibc\.(open|close|link|rename|unlink)\(/
    for target in ["EngineAPI", "TransferEngine", "HTTPCache"] {
      for file in try SourceTree.swiftFiles(under: "Sources")[target] ?? [] {
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

  @Test func `unchecked Sendable has a reason and is limited to wrappers`() throws {
    for (target, files) in try SourceTree.swiftFiles(under: "Sources") {
      for file in files where file.text.contains("@unchecked Sendable") {
        #expect(Self.uncheckedRooms.contains(target), "\(file.path)")
        #expect(
          file.text.contains("// Unchecked: "),
          "\(file.path): @unchecked Sendable needs a comment `// Unchecked: `")
      }
    }
  }

  /// Each access to a mutex wraps a closure that is its value in two more thunks permanently, so that every
  /// call gets slower. A closure in a field of a struct is not wrapped.
  @Test func `no closure is the value of a mutex`() throws {
    let files = try SourceTree.swiftFiles(under: "Sources").values.flatMap { $0 }
    let aliases = files.flatMap { ClosureInMutex.aliases(in: $0.text) }
    for file in files {
      for value in ClosureInMutex.values(in: file.text, aliases: Set(aliases)) {
        Issue.record("\(file.path): Mutex<\(value)>; put the closure into a struct, or use LateBoundCallback")
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
  func `closures in mutexes are found`(_ text: String, _ expected: [String]) {
    #expect(ClosureInMutex.values(in: text, aliases: ["Done"]) == expected)
    #expect(ClosureInMutex.aliases(in: "  package typealias Done = @Sendable (Int) -> Void\n") == ["Done"])
  }

  /// A cancelled sleep stays until its deadline, so only permanent repetition may sleep.
  @Test func `only permanent repetition sleeps`() throws {
    for (target, files) in try SourceTree.swiftFiles(under: "Sources")
    // The commands end with their process.
    where !["ferry", "Commands"].contains(target) {
      for file in files { #expect(!file.text.contains(".sleep("), "\(file.path): use a ResettableTimer") }
    }
  }

  /// An unreadable value is reported instead of being replaced by a default.
  @Test func `unreadable rows are not replaced by defaults`() throws {
    let healing = [
      "?? .shared", "?? .completed", "?? .invalid", "?? .failed", "?? .withdrawn", "(high: 0, low: 0)",
      "Violations()", "ObjectReader(", "row.bytes(\"id\")",
    ]
    let folders = try SourceTree.swiftFiles(under: "Sources")
    let files = try ["Ledger", "SQLiteLedger"].flatMap { try #require(folders[$0]) }
    for file in files {
      for word in healing where !file.path.hasSuffix("StoredRow.swift") {
        // The queues between processes have their own reader.
        if file.path.hasSuffix("SQLiteLedger+Queues.swift") { continue }
        #expect(!file.text.contains(word), "\(file.path): \(word); throw an UnreadableRow")
      }
    }
  }

  /// A conformance test that is missing from the list would not run.
  @Test func `conformance tests are listed`() throws {
    let files = try #require(try SourceTree.swiftFiles(under: "Tests")["LedgerConformance"])
    var listed: Set<String> = []
    for file in files {
      let cases = file.text.matches(of: /\n  func (\w+)\(\s*_ kind: LedgerKind/).map { String($0.1) }
      let calls = file.text.matches(of: /try await Self\(\)\.(\w+)\(\$0/).map { String($0.1) }
      #expect(cases.sorted() == calls.sorted(), "\(file.path)")
      listed.formUnion(calls)
    }
    #expect(listed.count > 60)
  }

  /// A filter that matches no suite would run no test and fail none.
  @Test(arguments: ["scripts/newer-libcurl.sh", "scripts/check.sh"])
  func `filters of scripts match suites or targets`(_ path: String) throws {
    let targets = try SourceTree.swiftFiles(under: "Tests")
    let suites = targets.values.joined().flatMap { file in
      file.text.matches(of: /(?:struct|class) (\w+Tests)\b/).map { String($0.1) }
    }
    let names = suites + targets.keys
    for match in try SourceTree.text(path).matches(of: /[A-Z]\w+Tests\b/) {
      #expect(names.contains { $0.contains(match.0) }, "\(path): \(match.0)")
    }
  }

  @Test func `source files have at most 400 lines`() throws {
    for files in try SourceTree.swiftFiles(under: "Sources").values {
      for file in files { #expect(file.lines.count <= 400, "\(file.path) has \(file.lines.count) lines") }
    }
  }
}
