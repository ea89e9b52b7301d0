internal import CLinux
internal import Glibc
package import HTTPFields
internal import Limits

/// Takes the parts out of a `multipart/x-mixed-replace` stream (RFC 2046 §5.1) that arrives in pieces of any size.
///
/// Pure. The pieces make no difference to what comes out, other than to where `body` is cut. Lines may end with LF
/// alone. Preamble and epilogue are dropped, and so is a part that a delimiter or the end cuts off in its header
/// block.
package struct MultipartParser {
  package enum Output {
    /// A part begins; its fields may be none.
    case head(HTTPHeaders)
    /// The next bytes of the part's body, not empty, valid during the call only.
    case body(UnsafeRawBufferPointer)
    /// The close delimiter: no part follows. Cameras seldom send it.
    case end
  }
  private enum State {
    case preamble
    case header
    case body
    case ended
    case malformed
  }
  /// How far the bytes behind a body's line end are a delimiter.
  private enum Match: Equatable {
    case none
    case carriageReturn
    case delimiter(Int)
    case dash
    case padding
    case lineEnd
  }
  private enum Step {
    case onward
    case mismatch
    case open
    case close
  }
  /// Bytes; a part's header block with its line ends may have this many.
  private let maximumHeader = Limits.partHeadBytes.value
  private let maximumHeaderLines = Limits.fields.value
  /// Bytes; a longer line is no delimiter, so that blanks behind a boundary cannot fill the memory.
  private let maximumDelimiterLine = Limits.partDelimiterBytes.value

  /// What a delimiter line may begin with. One until the first has come, then the form that this was in, since a
  /// body may well have the boundary without dashes on a line.
  private var forms: [[UInt8]]
  private var state = State.preamble
  private var headers = HTTPHeaders()
  private var (headerSize, headerLines) = (0, 0)
  /// The beginning of a line of the preamble or of a header block.
  private var line: [UInt8] = []
  private var match = Match.none
  /// Bytes of a body from earlier pieces that may turn out to be a delimiter.
  private var held: [UInt8] = []

  /// The header block of a part was longer than `maximumHeader`: nothing comes any more.
  var isMalformed: Bool { state == .malformed }

  /// - Parameter contentType: the field's value. Nil where it is of another type, or its boundary is missing, longer
  ///   than 70 characters, or not of printable ASCII; RFC 2046 §5.1.1 allows fewer characters than cameras use.
  package init?(contentType: String) {
    let type = contentType.utf8.prefix { $0 != UInt8(ascii: ";") }
    guard HTTPHeaders.equal(Substring(type).trimmingBlanks, "multipart/x-mixed-replace"),
      let boundary = HTTPParameters.value("boundary", in: contentType),
      (1...70).contains(boundary.utf8.count), boundary.utf8.last != 0x20,
      boundary.utf8.allSatisfy({ (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\"") })
    else { return nil }
    // Many servers write the boundary as they announced it, with or without dashes of its own.
    forms = [Array("--\(boundary)".utf8), Array(boundary.utf8)]
  }

  /// Takes the next bytes of the stream and gives what they complete, in order.
  package mutating func add(_ bytes: UnsafeRawBufferPointer, _ emit: (Output) -> Void) {
    var rest = bytes
    while !rest.isEmpty {
      switch state {
      case .preamble, .header: rest = addLine(rest, emit)
      case .body: rest = addBody(rest, emit)
      case .ended, .malformed: return
      }
    }
  }

  /// The stream is over, perhaps in the middle of a part: gives what was held back.
  package mutating func finish(_ emit: (Output) -> Void) {
    switch state {
    case .preamble, .header:
      let last = line.withUnsafeBytes { step(ofLine: $0) }
      if last == .close { emit(.end) }
    case .body:
      if !isPastBoundary { giveHeld(emit) }
    case .ended, .malformed: return
    }
    state = .ended
  }
}

// Preamble and header blocks: line by line.
extension MultipartParser {
  /// Takes bytes up to the next line end; returns those behind it.
  private mutating func addLine(
    _ bytes: UnsafeRawBufferPointer, _ emit: (Output) -> Void
  ) -> UnsafeRawBufferPointer {
    let lineFeed = Self.place(of: 0x0A, in: bytes, from: 0)
    let end = lineFeed.map { $0 + 1 } ?? bytes.count
    let rest = UnsafeRawBufferPointer(rebasing: bytes[end...])
    // A delimiter has a line end, too.
    if state == .preamble, line.isEmpty, lineFeed != nil, end <= forms.last?.count ?? 0 { return rest }
    if state == .header {
      headerSize += end
      if lineFeed != nil { headerLines += 1 }
      guard headerSize <= maximumHeader, headerLines <= maximumHeaderLines else {
        state = .malformed
        line = []
        return bytes
      }
    }
    // In the preamble, one byte more than a delimiter may have is enough to recognise a longer line; the rest is discarded.
    let most = state == .header ? end : min(end, maximumDelimiterLine + 1 - line.count)
    let piece = UnsafeRawBufferPointer(rebasing: bytes[..<most])
    guard lineFeed != nil else {
      line.append(contentsOf: piece)
      return rest
    }
    guard !line.isEmpty else {
      endLine(piece, emit)
      return rest
    }
    var whole = line
    line = []
    whole.append(contentsOf: piece)
    whole.withUnsafeBytes { endLine($0, emit) }
    return rest
  }

  private mutating func endLine(_ line: UnsafeRawBufferPointer, _ emit: (Output) -> Void) {
    switch step(ofLine: line) {
    case .open: beginHeader()
    case .close: close(emit)
    case .onward, .mismatch: if state == .header { addHeaderLine(line, emit) }
    }
  }

  private mutating func addHeaderLine(_ line: UnsafeRawBufferPointer, _ emit: (Output) -> Void) {
    let text = ResponseHeadParser.withoutLineEnd(line)
    guard text.isEmpty else { return headers.append(line: text) }
    emit(.head(headers))
    state = .body
    // The blank line's end is also the one before a delimiter, where there is no body.
    match = .delimiter(0)
  }

  private mutating func beginHeader() {
    state = .header
    headers.removeAll()
    (headerSize, headerLines) = (0, 0)
  }

  private mutating func close(_ emit: (Output) -> Void) {
    state = .ended
    emit(.end)
  }

  private static func has(_ line: UnsafeRawBufferPointer, prefix: [UInt8]) -> Bool {
    guard line.count >= prefix.count else { return false }
    for place in prefix.indices where line[place] != prefix[place] { return false }
    return true
  }

  /// Whether the line is a delimiter. The first one settles the form.
  private mutating func step(ofLine line: UnsafeRawBufferPointer) -> Step {
    guard line.count <= maximumDelimiterLine else { return .mismatch }
    for form in forms where Self.has(line, prefix: form) {
      var end = form.count
      while end < line.count, line[end] == 0x20 || line[end] == 0x09 { end += 1 }
      if end < line.count, line[end] == 0x0D { end += 1 }
      let isOpen = end == line.count - 1 && line[end] == 0x0A
      let dash = UInt8(ascii: "-")
      let isClose = line.count >= form.count + 2 && line[form.count] == dash && line[form.count + 1] == dash
      guard isOpen || isClose else { continue }
      if forms.count > 1 { forms = [form] }
      return isOpen ? .open : .close
    }
    return .mismatch
  }
}

// Bodies: byte by byte where there may be a delimiter, and otherwise from one line feed to the next.
extension MultipartParser {
  /// Takes bytes up to the end of a delimiter; returns those behind it.
  private mutating func addBody(
    _ bytes: UnsafeRawBufferPointer, _ emit: (Output) -> Void
  ) -> UnsafeRawBufferPointer {
    var index = 0
    var candidate = 0  // where in these bytes that which may be a delimiter begins
    while index < bytes.count {
      if match == .none {
        guard let found = Self.lineEnd(in: bytes, from: index) else { break }
        candidate = found
        match = bytes[found] == 0x0A ? .delimiter(0) : .carriageReturn
        index = found + 1
        continue
      }
      if match == .delimiter(0), Self.has(UnsafeRawBufferPointer(rebasing: bytes[index...]), prefix: forms[0])
      {
        match = .delimiter(forms[0].count)
        index += forms[0].count
        continue
      }
      let isTooLong = held.count + index - candidate > maximumDelimiterLine
      switch isTooLong ? .mismatch : step(over: bytes[index]) {
      case .onward: index += 1
      case .mismatch:  // No byte but this one can begin another candidate.
        giveHeld(emit)
        match = .none
      case let end:
        give(bytes[..<candidate], emit)
        held.removeAll(keepingCapacity: true)
        match = .none
        if end == .open { beginHeader() } else { close(emit) }
        return UnsafeRawBufferPointer(rebasing: bytes[(index + 1)...])
      }
    }
    if match == .none { candidate = bytes.count }
    give(bytes[..<candidate], emit)
    held.append(contentsOf: bytes[candidate...])
    return UnsafeRawBufferPointer(rebasing: bytes[bytes.count...])
  }

  private mutating func step(over byte: UInt8) -> Step {
    switch (match, byte) {
    case (.carriageReturn, 0x0A): match = .delimiter(0)
    case (.delimiter(let count), _) where count < forms[0].count:
      guard byte == forms[0][count] else { return .mismatch }
      match = .delimiter(count + 1)
    case (.delimiter, UInt8(ascii: "-")): match = .dash
    case (.dash, UInt8(ascii: "-")): return .close
    case (.delimiter, 0x0A), (.padding, 0x0A), (.lineEnd, 0x0A): return .open
    case (.delimiter, 0x0D), (.padding, 0x0D): match = .lineEnd
    case (.delimiter, 0x20), (.delimiter, 0x09), (.padding, 0x20), (.padding, 0x09): match = .padding
    default: return .mismatch
    }
    return .onward
  }

  /// What is held back has a whole boundary in it.
  private var isPastBoundary: Bool {
    switch match {
    case .none, .carriageReturn: false
    case .delimiter(let count): count == forms[0].count
    case .dash, .padding, .lineEnd: true
    }
  }

  private mutating func giveHeld(_ emit: (Output) -> Void) {
    guard !held.isEmpty else { return }
    held.withUnsafeBytes { emit(.body($0)) }
    held.removeAll(keepingCapacity: true)
  }

  private func give(_ bytes: Slice<UnsafeRawBufferPointer>, _ emit: (Output) -> Void) {
    if !bytes.isEmpty { emit(.body(UnsafeRawBufferPointer(rebasing: bytes))) }
  }

  /// Where the next CRLF or LF begins, or a CR that ends the bytes.
  private static func lineEnd(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
    guard let lineFeed = place(of: 0x0A, in: bytes, from: start) else {
      return bytes.last == 0x0D ? bytes.count - 1 : nil
    }
    return lineFeed > start && bytes[lineFeed - 1] == 0x0D ? lineFeed - 1 : lineFeed
  }

  static func place(of byte: UInt8, in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
    guard let base = bytes.baseAddress, let found = memchr(base + start, Int32(byte), bytes.count - start)
    else { return nil }
    return UnsafeRawPointer(found) - base
  }
}
