import EventLoop
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing
import TransferModel

@testable import BlobStore

@Suite struct DirectoryDestinationsTests {
  private let root = TemporaryDirectory.make("media")
  private let data = TemporaryDirectory.make("data")
  private let pool = ThreadPool(name: "test-place", threads: 1)
  private static let bytes = [UInt8](repeating: 7, count: 300_000)
  private static let task = TaskID(high: 1, low: 2)

  private var store: DirectoryDestinations { store(below: root) }

  private func store(below root: String, mode: UInt32 = 0o640) -> DirectoryDestinations {
    DirectoryDestinations(
      DestinationDirectories([.init(tenant: nil, path: root)]), mode: mode, register: data + "/destinations")
  }

  private func file(
    _ path: String, _ rule: Destination.ExistingFile = .fail, epoch: Int64 = 1, size: Int = bytes.count,
    below directory: String? = nil
  ) -> DestinationFile {
    DestinationFile(
      task: Self.task, epoch: epoch, tenant: .default,
      destination: Destination(file: (directory ?? root) + "/" + path, ifExists: rule), size: Int64(size))
  }

  private func prepare(
    _ file: DestinationFile, from source: DestinationSource = .bytes(bytes), earlier: FileMark? = nil,
    in store: DirectoryDestinations? = nil, isCancelled: Bool = false
  ) -> Result<PreparedFile, DestinationFailure> {
    let result = Mutex<Result<PreparedFile, DestinationFailure>?>(nil)
    let isDone = DispatchSemaphore(value: 0)
    (store ?? self.store).prepare(
      file, from: source, earlier: earlier, on: pool, isCancelled: { isCancelled }
    ) { found in
      result.withLock { $0 = found }
      isDone.signal()
    }
    isDone.wait()
    return result.withLock { $0! }
  }

  private func mark(_ result: Result<PreparedFile, DestinationFailure>) throws -> FileMark {
    guard case .temporary(let mark) = try result.get() else {
      throw DestinationFailure("the file was placed already")
    }
    return mark
  }

  /// Prepares and renames a file.
  private func place(
    _ file: DestinationFile, from source: DestinationSource = .bytes(bytes),
    in store: DirectoryDestinations? = nil
  ) throws -> PlacedFile {
    let mark = try mark(prepare(file, from: source, in: store))
    return try (store ?? self.store).rename(file, mark).get()
  }

  private func local() -> String {
    let path = data + "/blob"
    #expect(FileManager.default.createFile(atPath: path, contents: Data(Self.bytes)))
    return path
  }

  private func contents(_ path: String) -> [UInt8]? {
    FileManager.default.contents(atPath: path).map { Array($0) }
  }
  private func names(_ directory: String? = nil) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: directory ?? root).sorted()) ?? []
  }
  private func inode(_ path: String) -> UInt64? { FileMark(path: path)?.inode }
  private func mode(_ path: String) throws -> Int {
    try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
  }

  @Test func `file is placed with its mode below new directories`() throws {
    let placed = try place(file("a/b/c.bin"))
    #expect(placed.file == root + "/a/b/c.bin" && contents(placed.file) == Self.bytes)
    #expect(try mode(placed.file) == 0o640 && mode(root + "/a/b") == 0o750)
    #expect(names(root + "/a/b") == ["c.bin"] && names(data + "/destinations").isEmpty)
    #expect(placed.mark == FileMark(path: placed.file))
  }

  @Test func `local file on the same file system is linked`() throws {
    let blob = local()
    let placed = try place(file("a"), from: .local(LocalFile(path: blob)))
    #expect(inode(placed.file) == inode(blob) && contents(placed.file) == Self.bytes)
  }

  @Test func `local file with two names is copied`() throws {
    let blob = local()
    #expect(link(blob, data + "/second") == 0)
    let placed = try place(file("a"), from: .local(LocalFile(path: blob)))
    #expect(inode(placed.file) != inode(blob) && contents(placed.file) == Self.bytes)
  }

  @Test func `local file is copied to another file system`() throws {
    let other = TemporaryDirectory.make("memory", inMemory: true)
    let blob = local()
    let placed = try place(
      file("a/b", below: other), from: .local(LocalFile(path: blob)), in: store(below: other))
    #expect(contents(placed.file) == Self.bytes && names(other + "/a") == ["b"])
  }

  @Test func `bytes of a reader are copied`() throws {
    let descriptor = open(local(), O_RDONLY)
    let placed = try place(file("a"), from: .reader(FileReader(descriptor: descriptor)))
    #expect(contents(placed.file) == Self.bytes)
  }

  @Test(arguments: [
    (Destination.ExistingFile.fail, nil as String?), (.replace, "a.txt"), (.rename, "a (2).txt"),
  ])
  func `existing file is treated by the rule`(_ rule: Destination.ExistingFile, _ name: String?) throws {
    for name in ["a.txt", "a (1).txt"] {
      #expect(FileManager.default.createFile(atPath: root + "/" + name, contents: Data([1])))
    }
    let file = file("a.txt", rule)
    #expect((store.fault(of: file.destination) == nil) == (name != nil))
    let result = store.rename(file, try mark(prepare(file)))
    if let name {
      #expect(try result.get().file == root + "/" + name && contents(root + "/" + name) == Self.bytes)
    } else {
      #expect(throws: DestinationFailure.self) { try result.get() }
      #expect(contents(root + "/a.txt") == [1])
    }
    #expect(names().allSatisfy { !$0.hasSuffix(".ferry") } && names(data + "/destinations").isEmpty)
  }

  @Test(arguments: Destination.ExistingFile.allCases)
  func `file of a dead service is recognized`(_ rule: Destination.ExistingFile) throws {
    if rule != .fail { #expect(FileManager.default.createFile(atPath: root + "/a", contents: Data([1]))) }
    let first = file("a", rule)
    let mark = try mark(prepare(first))
    let placed = try store.rename(first, mark).get()
    let second = file("a", rule, epoch: 2)
    #expect(try prepare(second, earlier: mark).get() == .placed(placed))
    // Without the file, the next service writes it again.
    #expect(unlink(placed.file) == 0)
    #expect(try store.rename(second, self.mark(prepare(second, earlier: mark))).get().file == placed.file)
    #expect(names().count == (rule == .rename ? 2 : 1))
  }

  @Test func `temporary file of a dead service is deleted and cannot be renamed`() throws {
    let (dead, living) = (file("d/a", epoch: 1), file("d/a", epoch: 2))
    let mark = try mark(prepare(dead))
    _ = prepare(living)
    #expect(names(root + "/d").count == 2)
    store.removeLeftovers { $0 == 2 }
    #expect(names(root + "/d") == [living.temporaryName])
    #expect(throws: DestinationFailure.self) { try store.rename(dead, mark).get() }
    #expect(names(root + "/d") == [living.temporaryName])
    store.discard(living)
    #expect(names(root + "/d").isEmpty && names(data + "/destinations").isEmpty)
  }

  @Test func `register outside the directories deletes nothing`() throws {
    let victim = data + "/.\(Self.task).1.ferry"
    #expect(FileManager.default.createFile(atPath: victim, contents: nil))
    #expect(mkdir(data + "/destinations", 0o700) == 0)
    #expect(symlink(victim, data + "/destinations/\(Self.task).1") == 0)
    store.removeLeftovers { _ in false }
    #expect(contents(victim) == [])
  }

  // MARK: Faults

  @Test func `symbolic link is not followed`() throws {
    #expect(
      symlink(data, root + "/out") == 0 && mkdir(root + "/in", 0o700) == 0
        && symlink("in", root + "/loop") == 0)
    for path in ["out/a", "loop/a", "out/b/c"] {
      let failure = #expect(throws: DestinationFailure.self) { try prepare(file(path)).get() }
      #expect(failure?.code == ELOOP && failure?.message.contains("symbolic link") == true)
    }
    #expect(names(data) == ["destinations"] || names(data).isEmpty)
    // A link in place of the file itself exists, or is replaced.
    #expect(symlink(data + "/target", root + "/a") == 0)
    let refused = file("a")
    #expect(throws: DestinationFailure.self) { try store.rename(refused, mark(prepare(refused))).get() }
    #expect(try contents(place(file("a", .replace)).file) == Self.bytes && contents(data + "/target") == nil)
  }

  @Test func `swapped directory never leads out`() throws {
    #expect(mkdir(root + "/d", 0o700) == 0 && symlink(data, root + "/link") == 0)
    let swapper = NameSwapper(root + "/d", root + "/link")
    defer { swapper.stop() }
    var placed = 0
    for number in 0..<1000 {
      let file = file("d/\(number)", size: 1)
      guard case .success(.temporary(let mark)) = prepare(file, from: .bytes([1])) else { continue }
      if case .success = store.rename(file, mark) { placed += 1 }
    }
    #expect(
      placed > 0 && placed < 1000, "\(placed) files were placed, so the names were not swapped meanwhile")
    #expect(names(data).filter { $0 != "destinations" }.isEmpty)
  }

  @Test func `failure has the system's error and leaves nothing`() throws {
    #expect(FileManager.default.createFile(atPath: root + "/file", contents: nil))
    for (path, code) in [
      ("file/a", ENOTDIR),
      (String(repeating: "x", count: 255) + "/" + String(repeating: "é", count: 200), ENAMETOOLONG),
    ] {
      let result = prepare(file(path)).flatMap { found -> Result<PlacedFile, DestinationFailure> in
        guard case .temporary(let mark) = found else { return .failure(DestinationFailure("")) }
        return store.rename(file(path), mark)
      }
      let failure = #expect(throws: DestinationFailure.self) { try result.get() }
      #expect(failure?.code == code, "\(path)")
    }
    let missing = LocalFile(path: data + "/missing")
    #expect(throws: DestinationFailure.self) { try prepare(file("a"), from: .local(missing)).get() }
    #expect(throws: DestinationFailure.self) { try prepare(file("a", size: 5)).get() }
    #expect(throws: DestinationFailure.self) { try place(file("../a")) }
    #expect(names().allSatisfy { !$0.hasSuffix(".ferry") } && names(data + "/destinations").isEmpty)
  }

  @Test func `cancelled copy leaves nothing`() throws {
    let other = TemporaryDirectory.make("memory", inMemory: true)
    let file = file("a", below: other)
    for source in [
      DestinationSource.local(LocalFile(path: local())),
      .reader(FileReader(descriptor: open(local(), O_RDONLY))),
    ] {
      let result = prepare(file, from: source, in: store(below: other), isCancelled: true)
      #expect(throws: DestinationFailure.self) { try result.get() }
      #expect(names(other).isEmpty && names(data + "/destinations").isEmpty)
    }
  }

  @Test func `changed file is not opened`() throws {
    let placed = try place(file("a"))
    #expect(store.open(placed, of: .default) != nil)
    let handle = try #require(FileHandle(forWritingAtPath: placed.file))
    try handle.write(contentsOf: Data([1]))
    try handle.close()
    #expect(store.open(placed, of: .default) == nil)
    let other = try place(file("b"))
    #expect(rename(other.file, root + "/c") == 0)
    #expect(store.open(other, of: .default) == nil)
    #expect(symlink(root + "/c", other.file) == 0)
    #expect(store.open(other, of: .default) == nil)
  }

  @Test func `unusable directory is refused at the start`() throws {
    #expect(DirectoryDestinations.fault(ofDirectory: root) == nil)
    #expect(
      DirectoryDestinations.fault(ofDirectory: root + "/no")?.contains("does not exist; create it") == true)
    #expect(FileManager.default.createFile(atPath: root + "/file", contents: nil))
    #expect(DirectoryDestinations.fault(ofDirectory: root + "/file")?.contains("not a directory") == true)
    #expect(DirectoryDestinations.fault(ofDirectory: "/proc/self")?.contains("cannot be") == true)
  }
}

extension FileMark {
  /// Reads the mark of a file.
  fileprivate init?(path: String) {
    let descriptor = Glibc.open(path, O_RDONLY)
    guard descriptor >= 0, let entry = try? OpenDirectory.Entry(of: descriptor) else { return nil }
    Glibc.close(descriptor)
    self.init(entry)
  }
}
