import Foundation
import Synchronization
import TestSupport
import Testing
import TransferModel

@testable import HTTPCache

/// The process dies between any two changes of the disk, and some files are damaged. The cache then serves only stored data, and
/// permanently removed data do not return.
@Suite(.serialized, .blocking) struct CrashWalkTests {
  /// A camera that copies the cache's directory before some changes.
  private final class FileSnapshotter: Sendable {
    struct Picture: Sendable {
      let directory: String
      /// The number of permanent removals of everything.
      let epoch: Int
    }
    private struct State {
      var generator: SplitMix64
      var pictures: [Picture] = []
      var epoch = 0
    }
    private let directory: String
    private let state: Mutex<State>

    init(_ directory: String, seed: UInt64) {
      self.directory = directory
      state = Mutex(State(generator: SplitMix64(seed: seed)))
    }

    var pictures: [Picture] { state.withLock { $0.pictures } }
    func everythingIsRemoved() { state.withLock { $0.epoch += 1 } }

    func look() {
      state.withLock { state in
        guard Int.random(in: 0..<20, using: &state.generator) == 0 else { return }
        let copy = CacheHarness.directory()
        guard (try? FileManager.default.copyItem(atPath: directory, toPath: copy)) != nil else { return }
        state.pictures.append(Picture(directory: copy, epoch: state.epoch))
      }
    }
  }

  @Test(arguments: UInt64(0)..<200)
  func `cache after a crash serves only whole bodies`(_ seed: UInt64) async throws {
    let directory = CacheHarness.directory()
    let camera = FileSnapshotter(directory, seed: seed)
    defer { for path in [directory] + camera.pictures.map(\.directory) { CacheHarness.remove(path) } }
    var generator = SplitMix64(seed: seed &+ 1_000_000)
    let epochs = await Self.walk(directory, camera, &generator)
    for picture in camera.pictures {
      let isDamaged = Bool.random(using: &generator)
      if isDamaged { try Self.damage(picture.directory, &generator) }
      try await Self.check(picture.directory, epochs, picture.epoch, "seed \(seed)")
    }
  }

  /// Uses a cache, and returns the epoch in which each body was stored.
  private static func walk(
    _ directory: String, _ camera: FileSnapshotter, _ generator: inout SplitMix64
  ) async -> [String: Int] {
    let harness = CacheHarness(directory, memory: 2000, disk: 40_000, willChange: { camera.look() })
    var (epochs, epoch): ([String: Int], Int) = ([:], 0)
    for _ in 0..<40 {
      harness.now = harness.now.adding(seconds: Double.random(in: 1...90, using: &generator))
      let url = "http://a/\(Int.random(in: 0..<12, using: &generator))"
      switch Int.random(in: 0..<12, using: &generator) {
      case 0:
        await harness.removeAll()
        camera.everythingIsRemoved()
        epoch += 1
      case 1: harness.cache.remove(url: url)
      case 2, 3:
        guard var response = harness.cache.variants(of: url).first else { continue }
        response.vary = [VaryField(name: "accept", value: String(Int.random(in: 0..<2, using: &generator)))]
        harness.cache.update(response)
      default:
        let bytes = Pattern.bytes(
          Int.random(in: 0...1500, using: &generator), from: Int.random(in: 0..<9999, using: &generator))
        let response = CacheHarness.response(url, bytes)
        epochs[response.id] = epoch
        harness.cache.store(response, body: .bytes(bytes))
      }
    }
    await harness.flush()
    return epochs
  }

  /// Truncates some files, deletes some, and leaves some half written.
  private static func damage(_ directory: String, _ generator: inout SplitMix64) throws {
    for name in CacheHarness.names(directory) {
      let path = directory + "/" + name
      let size = CacheFile.status(path)?.size ?? 0
      switch Int.random(in: 0..<6, using: &generator) {
      case 0 where size > 0: truncate(path, Int(Int64.random(in: 0..<size, using: &generator)))
      case 1: CacheHarness.remove(path)
      case 2: try Data([1]).write(to: URL(fileURLWithPath: path + ".new"))
      default: break
      }
    }
  }

  private static func check(
    _ directory: String, _ epochs: [String: Int], _ epoch: Int, _ place: Comment
  ) async throws {
    let harness = CacheHarness(directory, memory: 2000, disk: 40_000)
    await harness.flush()
    let entries = harness.cache.entries(limit: 1000)
    for entry in entries {
      let response = entry.response
      let stored = try #require(epochs[response.id], place)
      #expect(stored >= epoch, place)
      let lease = try #require(harness.cache.body(of: response), place)
      guard case .file(let path) = lease.body else { continue }
      let bytes = try #require(CacheFile.read(path, size: response.size), place)
      #expect(Sample.digest(bytes) == response.sha256, place)
    }
    let names = CacheHarness.names(directory).filter {
      !$0.hasSuffix(".body.new") && !$0.hasSuffix(".new.new")
    }
    #expect(names.count == 2 * entries.count, place)
  }
}
