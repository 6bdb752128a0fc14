package handlers

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"strings"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/search"
	"example.org/conclave/search/lookup"
)

// postEmbed answers POST /v1/embed, with JSON unless the caller prefers npy. With npy, the header Conclave-Truncated
// has the indexes of the texts of which only the beginning was read, separated by commas. It returns a problem if the
// body is invalid, the collection is not loaded, or encoding fails.
func (a *API) postEmbed(c *call) error {
	var request lookup.EmbedRequest
	if err := c.decodeBody(&request); err != nil {
		return err
	}
	engine, err := c.admittedEngine()
	if err != nil {
		return err
	}
	out, err := engine.Embed(c.r.Context(), search.Caller{}, request)
	if err != nil {
		return err
	}
	if accept := strings.Join(c.r.Header.Values("Accept"), ","); acceptQuality(
		accept, typeNpy,
	) <= acceptQuality(accept, schema.TypeJSON) {
		return c.respond(http.StatusOK, out)
	}
	if len(out.Truncated) > 0 {
		c.w.Header().
			Set("Conclave-Truncated", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(out.Truncated)), ","), "[]"))
	}
	return c.sendText(http.StatusOK, typeNpy, encodeNPY(out.Embeddings, out.Dimension))
}

// typeNpy is numpy's file of one array, which has no registered name.
const typeNpy = "application/x-npy"

// encodeNPY returns vectors as numpy saves them, format version 1.0: float32,
// little-endian, [len(vectors), dimension], row by row. It takes 4 bytes a number,
// JSON about 13.
func encodeNPY(vectors [][]float32, dimension int) []byte {
	const magic = "\x93NUMPY\x01\x00"
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", len(vectors), dimension)
	// The numbers begin at a multiple of 64 bytes, and the header ends its line.
	header += strings.Repeat(" ", 63-(len(magic)+2+len(header))%64) + "\n"
	out := make([]byte, 0, len(magic)+2+len(header)+4*len(vectors)*dimension)
	out = binary.LittleEndian.AppendUint16(append(out, magic...), uint16(len(header)))
	out = append(out, header...)
	for _, vector := range vectors {
		for _, x := range vector {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
		}
	}
	return out
}
