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

  @Test func whatTasksHaveIsFoundAndNothingElse() throws {
    try fill()
    let all = Self.tasks.flatMap { task in Leftover.Kind.allCases.map { Leftover(task, $0) } }
    #expect(Set(bodies.contents()) == Set(all) && bodies.contents().count == all.count)
    #expect(Set(bodies.partials()) == Set(Self.tasks))
  }

  @Test(arguments: Leftover.Kind.allCases) func oneFileOfATaskIsRemoved(_ kind: Leftover.Kind) throws {
    try fill()
    let leftover = Leftover(Self.tasks[0], kind)
    bodies.remove(leftover)
    #expect(!bodies.contents().contains(leftover) && bodies.contents().count == 8)
  }

  @Test func aDirectoryThatIsNotThereHasNothing() {
    #expect(BodyDirectory(path: bodies.path + "/nowhere").contents().isEmpty)
    #expect(!FileManager.default.fileExists(atPath: bodies.path + "/nowhere"))
  }

  @Test func whatIsNoBusinessOfOursIsNoContent() throws {
    for name in ["lost+found", SetAside.name] {
      try FileManager.default.createDirectory(
        atPath: bodies.path + "/" + name, withIntermediateDirectories: false)
    }
    #expect(!bodies.hasFiles && !BodyDirectory(path: bodies.path + "/nowhere").hasFiles)
    try fill()
    #expect(bodies.hasFiles)
  }
}
