import Testing

@testable import Records

@Suite struct NonceSequenceTests {
  @Test func `nonces never repeat`() {
    for first in [0, UInt32.max - 2] {
      let nonces = NonceSequence(from: first)
      let all = (0..<5).map { _ in nonces.next() }
      #expect(Set(all).count == 5 && all.allSatisfy { $0.count == 12 })
      let prefixes = Set(all.map { Array($0[..<8]) })
      #expect(prefixes.count == (first == 0 ? 1 : 2))
    }
    let others = [NonceSequence(), NonceSequence()].map { $0.next() }
    #expect(others[0] != others[1])
  }
}
