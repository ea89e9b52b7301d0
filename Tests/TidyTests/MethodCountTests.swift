import Testing

/// A type that does too much hides it well in many short files: it is counted with all its extensions.
@Suite struct MethodCountTests {
  private static let limit = 25
  /// Types that have more, how many at most, and why.
  private static let exceptions: [String: (most: Int, why: String)] = [
    "TenantView": (56, "all that a caller sees: each is a line that hands on to the type that does it"),
    "TransferAPI": (
      55, "a handler for each operation of openapi.yaml, by resource; it has no state but what it serves"
    ),
    "SQLiteLedger": (53, "all that a ledger is asked for, in extensions by noun"),
    "MemoryLedger": (
      63, "all that a ledger is asked for, in extensions by noun; and what a world does to it"
    ),
  ]

  @Test func noTypeDoesTooMuch() throws {
    var count = MethodCount()
    for files in try Tree.swiftFiles(under: "Sources").values {
      for file in files { count.add(file.lines) }
    }
    #expect(count.methods.count > 300)
    for (type, methods) in count.methods {
      let most = Self.exceptions[type]?.most ?? Self.limit
      #expect(methods.count <= most, "\(type) has \(methods.count) methods: \(methods.sorted())")
    }
    for (type, exception) in Self.exceptions {
      let number = count.methods[type]?.count ?? 0
      #expect(number > Self.limit && !exception.why.isEmpty, "\(type) has \(number), and is no exception")
    }
  }

  @Test func methodsAreFound() {
    let text = """
      package struct A: Sendable {
        func a() {}
        @discardableResult private mutating func b<Value>(
          _ value: Value
        ) -> Int where Value: Sendable {
          func local() {}
          return 0
        }
        // func none() {}
        var c: Int {
          func local() {}
          return 0
        }
        init() {
          func local() {}
        }
        enum B {
          case func1
          static func == (left: B, right: B) -> Bool { true }
        }
        #if DEBUG
          func d() {}
        #endif
        class func e()
          -> Int
        {
          func local() {}
        }
        func f() {}
      }
      protocol P { 
        func none()
      }
      struct Empty {}
      extension A.B where Self: P {
        func g() {}
      }
      extension P {
        func h() {}
      }
      final class C {
        let text = \"""
          func none() {}
          \"""
        func i() {}
      }
      func free() {}
      """
    var count = MethodCount()
    count.add(text.split(separator: "\n", omittingEmptySubsequences: false))
    count.add(["extension A {", "  func j() {}", "}"])
    #expect(
      count.methods == ["A": ["a", "b", "d", "e", "f", "j"], "A.B": ["==", "g"], "P": ["h"], "C": ["i"]])
  }
}
