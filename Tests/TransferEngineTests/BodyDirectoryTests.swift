import Foundation
import TestSupport
import Testing
import TransferEngine
import TransferModel

@Suite struct BodyDirectoryTests {
  private let bodies = BodyDirectory(path: TemporaryDirectory.make("ferry-bodies"))
  private static let tasks = (1...3).map { TaskID(high: 1, low: $0) }

  /// Each task with all that it can have there, and files that are nobody's.
  private func fill() throws {
    for task in Self.tasks {
      for path in [bodies.path(task), bodies.temporaryPath(task), bodies.partialPath(task)] {
        try Data("x".utf8).write(to: URL(fileURLWithPath: path))
      }
    }
    for name in ["junk.part", ".part", "tsk_.part", "note"] {
      try Data("x".utf8).write(to: URL(fileURLWithPath: bodies.path + "/" + name))
    }
  }

  private var temporaries: Set<String> {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: bodies.path)) ?? []
    return Set(names.filter { $0.hasSuffix(".part") })
  }

  private func expectTheRest() {
    #expect(Set(bodies.tasks()) == Set(Self.tasks))
    #expect(Set(bodies.partials()) == Set(Self.tasks))
    #expect(FileManager.default.fileExists(atPath: bodies.path + "/note"))
  }

  @Test(arguments: 0..<8) func whatSomebodyGoesOnWithStays(_ mask: Int) throws {
    try fill()
    let kept = Self.tasks.enumerated().filter { mask >> $0.offset & 1 == 1 }.map(\.element)
    bodies.removeTemporaries { !kept.contains($0) }
    #expect(temporaries == Set(kept.map { "\($0).part" }))
    expectTheRest()
  }

  @Test func withoutAnyoneAllGo() throws {
    try fill()
    bodies.removeTemporaries()
    #expect(temporaries == [])
    expectTheRest()
  }

  @Test func aDirectoryThatIsNotThereHasNone() {
    BodyDirectory(path: bodies.path + "/nowhere").removeTemporaries()
    #expect(!FileManager.default.fileExists(atPath: bodies.path + "/nowhere"))
  }
}
