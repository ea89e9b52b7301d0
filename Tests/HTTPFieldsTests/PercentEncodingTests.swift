import Testing

@testable import HTTPFields

@Suite struct PercentEncodingTests {
  @Test(arguments: [
    ("", ""), ("abc", "abc"), ("%41%62c", "Abc"), ("%", "%"), ("%4", "%4"), ("a%4", "a%4"), ("%4g", "%4g"),
    ("%25", "%"), ("%2525", "%25"), ("%e2%82%AC", "€"), ("%C3", "%C3"), ("é%20", "é "), ("%41", "A"),
  ])
  func `valid sequences are decoded`(_ text: String, _ expected: String) {
    #expect(PercentEncoding.decode(text) == expected)
  }

  @Test(arguments: [
    ("aZ09-._~", "aZ09-._~"), ("a b", "a%20b"), ("€/%", "%E2%82%AC%2F%25"), ("\n\u{7F}", "%0A%7F"),
  ])
  func `reserved characters are encoded`(_ text: String, _ expected: String) {
    #expect(PercentEncoding.encode(text) == expected)
    #expect(PercentEncoding.decode(expected) == text)
  }
}
